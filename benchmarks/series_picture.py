"""A critical-difference picture: models on a line of mean ranks, and bars over those that do not differ."""

from __future__ import annotations

from itertools import combinations
from pathlib import Path

import numpy as np
from matplotlib import pyplot as plt
from numpy.typing import NDArray
from scipy.stats import rankdata, wilcoxon

LEVEL = 0.05
FEWEST = 10  # sets that ranks are taken over; models run on fewer are left out


def compare(a: NDArray[np.float64], b: NDArray[np.float64]) -> float:
    """Return the p value of Wilcoxon's signed ranks, 1 where all are equal."""
    return 1.0 if np.array_equal(a, b) else float(wilcoxon(a, b, zero_method="zsplit").pvalue)


def cliques(scores: NDArray[np.float64]) -> list[tuple[int, int]]:
    """Return ranges of models, sorted by rank, in which no two differ (Holm's correction)."""
    n = scores.shape[1]
    pairs = [*combinations(range(n), 2)]
    p = np.array([compare(scores[:, i], scores[:, j]) for i, j in pairs])
    order = np.argsort(p)
    passed = np.cumprod(p[order] < LEVEL / (len(pairs) - np.arange(len(pairs)))).astype(bool)
    differ = {pairs[k] for k in order[passed]}
    spans = [(i, j) for i, j in pairs if not any(pair in differ for pair in combinations(range(i, j + 1), 2))]
    return [s for s in spans if not any(o != s and o[0] <= s[0] and s[1] <= o[1] for o in spans)]


def draw(found: dict[str, NDArray[np.float64]], path: Path) -> int:
    """Draw models that have results on enough common sets; return the number of sets."""
    names = [name for name in found if np.isfinite(found[name]).any()]
    while len(names) > 2 and np.isfinite([found[name] for name in names]).all(axis=0).sum() < FEWEST:
        names.remove(min(names, key=lambda name: np.isfinite(found[name]).sum()))
    scores = np.array([found[name] for name in names]).T
    scores = scores[np.isfinite(scores).all(axis=1)]
    ranks = rankdata(-scores, axis=1).mean(axis=0)
    order = np.argsort(ranks)
    names, ranks, scores = [names[k] for k in order], ranks[order], scores[:, order]
    figure, axes = plt.subplots(figsize=(7.2, 0.9 + 0.32 * len(names)), layout="constrained")
    _lines(axes, names, ranks, cliques(scores))
    figure.savefig(path, dpi=150, metadata={"Software": None})
    plt.close(figure)
    return len(scores)


def _lines(axes: plt.Axes, names: list[str], ranks: NDArray[np.float64], joined: list[tuple[int, int]]) -> None:
    for row, (name, rank) in enumerate(zip(names, ranks, strict=True)):
        ours = name.startswith("Kenyon")
        axes.plot(rank, row, "o", color="#c1440e" if ours else "#455a64", markersize=6)
        axes.text(rank + 0.08, row, f"{name}  {rank:.2f}", va="center", fontsize=9, fontweight="bold" if ours else None)
    for k, (first, last) in enumerate(joined):
        place = -0.6 - 0.25 * k
        axes.plot([ranks[first], ranks[last]], [place, place], color="black", linewidth=3, solid_capstyle="round")
    axes.set(
        xlim=(ranks[0] - 0.1, ranks[-1] + 0.3 + 0.3 * len(names)), ylim=(len(names) - 0.4, -0.9 - 0.25 * len(joined))
    )
    axes.set_yticks([])
    axes.set_xlabel("mean rank (1 is best)")
    axes.spines[["left", "right", "top"]].set_visible(False)
