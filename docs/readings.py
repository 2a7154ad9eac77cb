"""Write docs/readings.md from the readings in the package: python docs/readings.py [DIR of a run, for the matrix]."""

import sys
from pathlib import Path

from kenyon.paper.matrix import markdown, read_matrix, readings_table
from kenyon.paper.readings import READINGS, THIN

PAGE = Path(__file__).with_suffix(".md")
MATRIX = "## The matrix\n\n"
NOT_RUN = "The readings have not been run yet.\n"
TEXT = """\
# Readings

How much hangs on what the paper does not say. The choices of the figures are the central reading. Each of the other {n}
departs from it in one choice that the paper leaves open, and every claim is judged in every one of them by
[the same rules](claims.md). A claim with the same verdict in all readings is robust; another depends on the choices in
which its verdict differs. This page is made from `src/kenyon/paper/readings.toml` by `python docs/readings.py DIR`.

```bash
make readings                              # all of them, in the folder of make reproduce
kenyon readings --only "target 20"         # one of them
kenyon readings --quick --only central     # small sizes, to see it work
```

`--workers`, `--cluster` and `--out` are those of `kenyon reproduce`; a killed run continues with the same command.
Results lie with those of the reproduction, and a trial that a reading does not change is shared with the central one.
The verdicts are in `DIR/readings.json`, the picture in `DIR/figures/figureR.svg`, and the report shows both.
`python benchmarks/readings.py` estimates the time.

All readings, the central one included, are run at fewer sizes ({sizes}),
with {seeds} seeds; sequence runs have half of the episodes, GD_W is tuned on one seed, and only learners that claims
read are run. Where a claim speaks of a change with size, it is the slope of a line through three numbers of stimuli, or
the difference between two numbers of sequences. So the central column may differ from the verdicts of `make reproduce`.

{table}

"""


def page(matrix: str) -> str:
    """Return the page with the matrix as it is given."""
    sizes = "; ".join(f"{kind} {', '.join(map(str, sizes))}" for kind, sizes in THIN.sizes.items())
    text = TEXT.format(n=len(READINGS) - 1, seeds=THIN.seeds, sizes=sizes, table=readings_table())
    return text + MATRIX + matrix


if __name__ == "__main__":
    found = read_matrix(sys.argv[1]) if len(sys.argv) > 1 else None
    PAGE.write_text(page(markdown(found) if found else NOT_RUN), encoding="utf-8")
