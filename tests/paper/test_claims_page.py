"""docs/claims.md says what the claims in the package say."""

import runpy
from pathlib import Path

from kenyon.paper.claims import CLAIMS

DOCS = Path(__file__).parents[2] / "docs"


def test_the_page_of_claims_is_up_to_date():
    script = runpy.run_path(str(DOCS / "claims.py"))
    assert (DOCS / "claims.md").read_text(encoding="utf-8") == script["page"](), "run: python docs/claims.py"


def test_it_has_a_row_of_six_cells_for_every_claim():
    rows = [line for line in (DOCS / "claims.md").read_text(encoding="utf-8").splitlines() if line.startswith("| ")]
    assert len(rows) == len(CLAIMS) + 1  # and the head
    assert {row.replace(r"\|", "").count("|") for row in rows} == {7}
