"""Write docs/claims.md, the table of claims and rules, from the claims in the package: python docs/claims.py."""

from pathlib import Path

from kenyon.paper.claims import CLAIMS

PAGE = Path(__file__).with_suffix(".md")
HEAD = """\
# Claims and rules

The {n} claims of Manneschi, Lin & Vasilaki (2019, arXiv 1907.08600) that `make reproduce` judges, in our words, and
how. Rules and bounds were committed before the runs that they judge. This page is made from
`src/kenyon/paper/claims/claims.toml` by `python docs/claims.py`; verdicts are in [Reproduction](reproduction.md).

An effect is the mean over seeds of a paired difference (all learners of a seed see the same network, task and
episodes), with its 95% interval by Student's t. A claim is **reproduced** if every effect lies wholly on the claimed
side, **contradicted** if at least one lies wholly on the other side after Holm's correction for the number of the
claim's effects, and **inconclusive** otherwise; an exact tie contradicts nothing. A learner that diverged counts as
guessing. Where words such as "about", "hardly" or "comparable" need a bound, it is a share of an effect that the paper
contrasts, or of the spread between seeds.

| | the paper says | where | rule | bound, and why | why the rule is fair |
|---|---|---|---|---|---|
"""


def page() -> str:
    """Return the page."""
    rows = [[str(claim.number), claim.statement, claim.place, claim.rule, claim.bound, claim.fair] for claim in CLAIMS]
    lines = ["| " + " | ".join(text.replace("|", r"\|") for text in row) + " |\n" for row in rows]
    return HEAD.format(n=len(CLAIMS)) + "".join(lines)


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
