"""Fill docs/reproduction.md with the verdicts and figures of a run, and with choices: python docs/reproduction.py DIR.

DIR is the folder of a full `kenyon reproduce`. Without it only the tables of choices are renewed.
"""

import json
import re
import shutil
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path

from kenyon.paper.matrix import hangs_on, markdown, read_matrix
from kenyon.paper.report.page import effect_words
from kenyon.paper.report.words import changes, choices
from kenyon.paper.verdicts import Effect

PAGE = Path(__file__).with_suffix(".md")
PICTURES = Path(__file__).parent / "pictures" / "paper"


def choices_table() -> str:
    """Return what the paper leaves open, and what we chose."""
    return _table(["", "the paper", "here", "why"], choices())


def changes_table() -> str:
    """Return what was changed after a look."""
    return _table(["", "before", "now"], changes())


def verdicts_table(folder: Path) -> str:
    """Return the verdicts of a run, with an effect that decided each."""
    contents = json.loads((folder / "claims.json").read_text(encoding="utf-8"))
    if contents["quick"]:
        raise SystemExit(f"{folder} holds a quick run, which judges nothing")
    rows, matrix = [], read_matrix(folder)
    for claim in contents["claims"]:
        first = {name: float("nan") if value is None else value for name, value in claim["effects"][0].items()}
        found = f"{first['label']}: {effect_words(Effect(**first))}"
        word = claim["verdict"] if claim["verdict"] == "reproduced" else f"**{claim['verdict']}**"
        if told := hangs_on(matrix, claim["number"], claim["verdict"]):
            word = f"**{told}** (central reading: contradicted)"
        rows.append([str(claim["number"]), claim["claim"], found, word])
    return _table(["", "the paper says", "effect, 95% interval", "verdict"], rows)


def filled(page: str, name: str, contents: str) -> str:
    """Return the page with other contents between the marks of a name."""
    pattern = rf"(<!-- {name} -->\n).*?(<!-- end of {name} -->)"
    return re.sub(pattern, lambda match: f"{match[1]}\n{contents}\n{match[2]}", page, flags=re.DOTALL)


def _table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    lines = [head, ["---"] * len(head), *([cell.replace("|", r"\|") for cell in row] for row in rows)]
    return "".join("| " + " | ".join(line) + " |\n" for line in lines)


def main(folders: Sequence[str]) -> None:
    """Renew the page, and the pictures if there is a run."""
    page = PAGE.read_text(encoding="utf-8")
    page = filled(filled(page, "choices", choices_table()), "changes", changes_table())
    for folder in map(Path, folders):
        page = filled(page, "verdicts", verdicts_table(folder))
        if (matrix := read_matrix(folder)) is not None:
            page = filled(page, "readings", markdown(matrix))
        for picture in sorted((folder / "figures").glob("*.png")):
            shutil.copyfile(picture, PICTURES / picture.name)
    PAGE.write_text(page, encoding="utf-8")


if __name__ == "__main__":
    main(sys.argv[1:2])
