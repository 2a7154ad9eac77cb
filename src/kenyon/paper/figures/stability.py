"""Figure S4: where fixed steps are stable."""

from __future__ import annotations

from typing import Any

import numpy as np
import xarray as xr
from matplotlib.lines import Line2D
from numpy.typing import NDArray

from kenyon._looks import INK, MAP, WARNING
from kenyon.paper.figures import _parts as parts
from kenyon.paper.plan import Results

BOUND = 2.0  # of eta |x|^2


def figure_s4(results: Results) -> Any:
    """Draw accuracy over threshold and input gain, where it diverges, and the line eta |x|^2 = 2."""
    data = results.get("S4").isel(size=0).transpose("input_gain", "learner", "seed", ...)
    names = [str(name) for name in data.learner.values]
    theta = np.array([parts.learner_setting(data, name, "start") for name in names], np.float64)
    eta = float(parts.learner_setting(data, names[0], "eta_w"))
    figure = parts.new_figure(8.6, width=13.6)
    ax = figure.subplots()
    columns, rows = _edges(theta), np.arange(data.input_gain.size + 1) - 0.5
    shown: dict[str, Any] = {"cmap": MAP, "vmin": parts.guess(data), "vmax": 1, "edgecolors": "white", "linewidth": 0.4}
    image = ax.pcolormesh(columns, rows, data.accuracy.mean("seed").values, **shown)
    figure.colorbar(image, ax=ax, label="accuracy, fresh noise", aspect=25, pad=0.02)
    _failures(ax, data, theta)
    draw_bound(ax, theta, data.start_norm2.mean("seed").values, eta)
    ax.set_yticks(range(data.input_gain.size), [f"{gain:g}" for gain in data.input_gain.values])
    ax.set(xlabel=r"threshold $\theta_g$, the same for all neurons and fixed", ylabel="input gain")
    ax.set(xlim=(columns[0], columns[-1]), ylim=(rows[0], rows[-1]), facecolor="0.88")
    figure.legend(handles=_key(eta), loc="outside lower center", ncols=2, columnspacing=2)
    return figure


def draw_bound(ax: Any, theta: NDArray[np.float64], norm2: NDArray[np.float64], eta: float) -> Any:
    """Draw the line on which eta |x|^2 is 2; above it steps overshoot. `norm2` has shape (n_gains, n_thresholds)."""
    level = np.log(np.maximum(eta * norm2, 1e-6) / BOUND)
    if min(level.shape) < 2 or not (level < 0).any() or not (level > 0).any():
        return None
    return ax.contour(theta, np.arange(len(norm2)), level, levels=[0.0], colors=WARNING, linewidths=1.8)


def _edges(centres: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return edges between neighbours, and as far beyond the first and the last."""
    if len(centres) == 1:
        return np.array([centres[0] - 0.5, centres[0] + 0.5])
    between = (centres[1:] + centres[:-1]) / 2
    return np.array([2 * centres[0] - between[0], *between, 2 * centres[-1] - between[-1]])


def _failures(ax: Any, data: xr.Dataset, theta: NDArray[np.float64]) -> None:
    """Mark cells in which seeds failed: too many active neurons, or none."""
    failed = (data.diverged_at >= 0).values
    active = data.start_coding_level.mean("seed").values
    for (row, column), share in np.ndenumerate(failed.mean(axis=2)):
        if share:
            mark = "o" if active[row, column] < 0.01 else "x"
            face = "none" if mark == "o" else WARNING
            size = 5 if share == 1 else 3
            colour = INK if share == 1 else "white"
            ax.plot(theta[column], row, mark, color=colour, markerfacecolor=face, markersize=size, markeredgewidth=1)


def _key(eta: float) -> list[Line2D]:
    mark: dict[str, Any] = {"linestyle": "", "color": INK, "markerfacecolor": "none", "markersize": 5}
    return [
        Line2D([], [], color=WARNING, linewidth=1.8, label=rf"$\eta_W |x|^2 = 2$ ($\eta_W$ = {eta:g})"),
        Line2D([], [], marker="x", label="diverged", **mark),
        Line2D([], [], marker="o", label="silent: no neuron active", **mark),
        Line2D([], [], marker="", linestyle="", label="small and white: in some seeds only"),
    ]
