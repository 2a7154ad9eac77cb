"""docs/claims.md and docs/reproduction.md say what the package says."""

import json
import runpy
from pathlib import Path

import pytest

from kenyon.paper.claims import CLAIMS

DOCS = Path(__file__).parents[2] / "docs"


def test_the_page_of_claims_is_up_to_date():
    script = runpy.run_path(str(DOCS / "claims.py"))
    assert (DOCS / "claims.md").read_text(encoding="utf-8") == script["page"](), "run: python docs/claims.py"


def test_it_has_a_row_of_six_cells_for_every_claim():
    rows = [line for line in (DOCS / "claims.md").read_text(encoding="utf-8").splitlines() if line.startswith("| ")]
    assert len(rows) == len(CLAIMS) + 1  # and the head
    assert {row.replace(r"\|", "").count("|") for row in rows} == {7}


def test_the_page_of_the_reproduction_has_all_choices_and_changes():
    script = runpy.run_path(str(DOCS / "reproduction.py"))
    page = (DOCS / "reproduction.md").read_text(encoding="utf-8")
    assert script["choices_table"]() in page, "run: python docs/reproduction.py"
    assert script["changes_table"]() in page, "run: python docs/reproduction.py"


def test_it_has_a_verdict_on_every_claim_as_stated():
    page = (DOCS / "reproduction.md").read_text(encoding="utf-8")
    for claim in CLAIMS:
        assert f"| {claim.number} | {claim.statement} | " in page, "run: python docs/reproduction.py DIR"


def test_verdicts_of_a_run_are_tabulated_and_quick_runs_have_none(tmp_path):
    script = runpy.run_path(str(DOCS / "reproduction.py"))
    effect = {"label": "|x|", "value": 0.5, "low": 0.4, "high": None, "supports": True, "unit": "", "p_against": 1.0}
    claim = {"number": 1, "claim": "It is so.", "verdict": "contradicted", "effects": [effect]}
    (tmp_path / "claims.json").write_text(json.dumps({"quick": False, "claims": [claim]}))
    *_, row = script["verdicts_table"](tmp_path).splitlines()
    assert row == r"| 1 | It is so. | \|x\|: 0.500 [0.400, –] | **contradicted** |"
    (tmp_path / "claims.json").write_text(json.dumps({"quick": True, "claims": [claim]}))
    with pytest.raises(SystemExit, match="judges nothing"):
        script["verdicts_table"](tmp_path)
