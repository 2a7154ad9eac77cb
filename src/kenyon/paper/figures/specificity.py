"""Figure 6: how specific neurons are to a class, before and after learning."""

from __future__ import annotations

from typing import Any

import numpy as np
import xarray as xr
from numpy.typing import NDArray

from kenyon._looks import FAINT, Look, look
from kenyon.paper.figures import _parts as parts
from kenyon.paper.plan import Results
from kenyon.paper.style import FIVE, summary

N_BINS = 20
BEFORE = Look(r"before, $\theta = 0$", FAINT, "")
PRELEARNED = Look("before, prelearned", "#56B4E9", "", (0, (4, 1.5)))
AFTER = look("Composed")._replace(label="after, Composed")


def figure6(results: Results) -> Any:
    """Draw histograms of specificity: Composed before and after learning, and all learners after it."""
    figure = parts.new_figure(12.5)
    axes = parts.panels(figure, 2, 2, sharex="col")
    for column, part in enumerate(("static", "sequence")):
        data = results.get("6", part)
        about, edges = f"{int(data.size.values[-1])} {parts.items(data)}", edges_of(data)
        top, bottom = axes[:, column]
        composed = data.sel(learner="Composed")
        _histogram(top, data.specificity.sel(learner="GradientWeights"), edges, BEFORE, filled=True)
        _histogram(top, composed.start_specificity, edges, PRELEARNED)
        _histogram(top, composed.specificity, edges, AFTER)
        parts.title(top, "ab"[column], f"{about}: before and after")
        for name, seen in parts.named(data, FIVE[1:]).items():
            _histogram(bottom, data.specificity.sel(learner=name), edges, seen)
        parts.title(bottom, "cd"[column], f"{about}: all learners, after")
        bottom.set_xlabel(r"specificity $Sp_i$ of a neuron")
    for ax in axes.flat:
        ax.set(yscale="log", ylabel="fraction of neurons", xlim=(0, None))
        ax.set(ylim=(1 / data.neuron.size, 60), yticks=[10.0**-k for k in range(int(np.log10(data.neuron.size)) + 1)])
        ax.minorticks_off()
        ax.legend(loc="upper right", fontsize=6.5, title="mean over neurons [95% interval]", title_fontsize=6.5)
    return figure


def edges_of(data: xr.Dataset) -> NDArray[np.float64]:
    """Return the edges of bins that hold all specificities of a task."""
    highest = max(float(data[name].max()) for name in ("specificity", "start_specificity"))
    return np.linspace(0, highest * 1.001 or 1.0, N_BINS + 1)


def shares(values: xr.DataArray, edges: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the share of neurons in each bin, a row per seed; NaN for a seed that diverged."""
    rows = values.squeeze("size").transpose("seed", "neuron").values
    counts = [np.histogram(row, edges)[0] / len(row) if np.isfinite(row).all() else np.nan * edges[1:] for row in rows]
    return np.array(counts, np.float64)


def _histogram(ax: Any, values: xr.DataArray, edges: NDArray[np.float64], seen: Look, filled: bool = False) -> None:
    """Draw the mean share of neurons in each bin and its interval over seeds; the mean specificity is in the legend."""
    found = summary(shares(values, edges))
    low, high = (np.append(end, end[-1]) for end in (found.low, found.high))
    if filled:
        ax.stairs(found.mean, edges, fill=True, color=seen.colour, alpha=0.3, baseline=1e-9)
    else:
        ax.fill_between(edges, low, high, step="post", color=seen.colour, alpha=0.15, linewidth=0)
    line = {"color": seen.colour, "linestyle": seen.dash, "linewidth": 1.4, "baseline": 1e-9}
    ax.stairs(found.mean, edges, label=f"{seen.label}: {_mean(values)}", **line)


def _mean(values: xr.DataArray) -> str:
    found = summary(values.mean("neuron").transpose("seed", "size").values)
    return f"{found.mean[0]:.4f} [{found.low[0]:.4f}, {found.high[0]:.4f}]"
