"""Figure S6: Normalised beside the others, what each of its parts adds, its three numbers, and where it fails."""

from __future__ import annotations

from string import ascii_lowercase
from typing import Any

import numpy as np
import xarray as xr

from kenyon._looks import MAP, Look, look, write_cells
from kenyon.paper.figures import _parts as parts
from kenyon.paper.figures.reward import reward_curves
from kenyon.paper.plan import SEQUENCES, STIMULI, Results, nearest_size
from kenyon.paper.style import FIVE, over, summary

BESIDE = ("GradientWeights", "Composed", "Normalised", "Ridge")
LIMITS = {  # setting, label of its axis, title
    "classes": ("n_classes", "number of classes (log scale)", "Many classes"),
    "neurons": ("n_neurons", "number of neurons N (log scale)", "Small networks"),
    "noise": ("noise", r"input noise $\sigma$", "Noise"),
}
PARTS = {
    "Normalised": look("Normalised")._replace(label="complete"),
    "fixed step": Look("fixed step", "#4D4D4D", "s", (0, (4, 1.5))),
    "start at 0": Look("start at 0", "#0072B2", "o", (0, (5, 1.2, 1, 1.2))),
    "thresholds not learned": Look("thresholds not learned (k = 0)", "#009E73", "D", (0, (1.5, 1))),
}


def figure_s6(results: Results) -> Any:
    """Draw curves, parts, numbers and limits, from top to bottom."""
    figure = parts.new_figure(34)
    curves, without, numbers, limits = figure.subfigures(4, 1, height_ratios=[11.6, 6.6, 6.2, 11.2])
    _curves(curves, results)
    _without(without, results)
    _numbers(numbers, results.get("S6", "numbers"))
    _limits(limits, results)
    return figure


def _curves(figure: Any, results: Results) -> None:
    """Draw training curves of both tasks, supervised above, by reward below."""
    looks = {name: look(name) for name in FIVE}
    axes = parts.panels(figure, 2, 2)
    for ax, letter, name, wanted in zip(axes[0], "ab", ("2", "4"), (STIMULI, SEQUENCES), strict=True):
        data = results.get(name)
        size = nearest_size(data, wanted)
        parts.curves(ax, data.sel(size=size), parts.named(data, FIVE))
        parts.title(ax, letter, f"Supervised: {size} {parts.items(data)}")
        parts.accuracy_axis(ax, parts.guess(data))
    for ax, letter, part in zip(axes[1], "cd", ("static", "sequence"), strict=True):
        data = results.get("7", part)
        reward_curves(ax, data, looks)
        parts.title(ax, letter, ax.get_title(loc="left"))
        parts.accuracy_axis(ax, parts.guess(data))
    parts.legend(figure, looks.values(), 5)


def _without(figure: Any, results: Results) -> None:
    """Draw training curves with one part removed at a time."""
    axes = parts.panels(figure, 1, 2)
    for ax, letter, part in zip(axes, "ef", ("parts static", "parts sequence"), strict=True):
        data = results.get("S6", part)
        parts.curves(ax, data.isel(size=0), PARTS)
        kind = "resampled " if parts.setting(data, "task.resample") else ""
        parts.title(ax, letter, f"One part removed: {int(data.size.max())} {kind}{parts.items(data)}")
        parts.accuracy_axis(ax, parts.guess(data))
    parts.legend(figure, PARTS.values(), 4)


def grid(data: xr.Dataset) -> dict[float, tuple[list[float], list[float], Any]]:
    """Return accuracy over mu (columns) and k (rows) for each percentile: {q: (mu, k, table)}."""
    cells: dict[tuple[float, float, float], float] = {}
    for name in (str(name) for name in data.learner.values):
        q = float(parts.learner_setting(data, name, "start")["percentile"])
        mu, k = (float(parts.learner_setting(data, name, setting)) for setting in ("mu", "k"))
        cells[q, k, mu] = float(data.accuracy.sel(learner=name).mean())
    qs, ks, mus = (sorted({cell[i] for cell in cells}) for i in range(3))
    return {q: (mus, ks, np.array([[cells.get((q, k, mu), np.nan) for mu in mus] for k in ks])) for q in qs}


def _numbers(figure: Any, data: xr.Dataset) -> None:
    """Draw a heat map over mu and k for each percentile."""
    tables = grid(data)
    axes = figure.subplots(1, len(tables), squeeze=False)[0]
    for ax, letter, (q, (mus, ks, table)) in zip(axes, "ghijklmn", tables.items(), strict=False):
        image = ax.imshow(table, cmap=MAP, vmin=parts.guess(data), vmax=1, origin="lower", aspect="auto")
        write_cells(ax, table, (parts.guess(data) + 1) / 2)
        ax.set_xticks(range(len(mus)), [f"{mu:g}" for mu in mus])
        ax.set_yticks(range(len(ks)), [f"{k:g}" for k in ks] if ax is axes[0] else [])
        ax.set_xlabel(r"step $\mu$")
        ax.spines[:].set_visible(False)
        ax.tick_params(length=0)
        parts.title(ax, letter, f"Percentile {q:g}")
    axes[0].set_ylabel("share of thresholds k")
    label = f"accuracy, {int(data.size.max())} resampled\nstimuli, {int(parts.setting(data, 'n_episodes')):,} episodes"
    figure.colorbar(image, ax=list(axes), label=label, aspect=25, pad=0.01)


def _limits(figure: Any, results: Results) -> None:
    """Draw accuracy against classes, neurons and noise, and a long training."""
    axes, letters = figure.subplots(2, 2).ravel(), ascii_lowercase[6 + len(grid(results.get("S6", "numbers"))) :]
    for ax, letter, (part, (name, label, head)) in zip(axes, letters, LIMITS.items(), strict=False):
        data = results.get("S6", part)
        _along(ax, data, name, label)
        parts.title(ax, letter, f"{head}: {int(data.size.max())} stimuli")
    _guesses(axes[0])
    long = results.get("S6", "long")
    parts.curves(axes[3], long.isel(size=0), parts.named(long, FIVE))
    parts.title(axes[3], letters[3], f"Long training: {int(long.size.max())} resampled stimuli")
    for ax in axes[1:]:
        parts.accuracy_axis(ax, parts.guess(long))
    parts.legend(figure, map(look, BESIDE), 4)


def _along(ax: Any, data: xr.Dataset, name: str, label: str) -> None:
    """Draw accuracy against a setting."""
    values = np.asarray(data[name].values, np.float64)
    for learner, seen in parts.named(data, BESIDE).items():
        parts.points(ax, values, summary(over(data.accuracy.sel(learner=learner).isel(size=0), name)), seen)
    ax.set_xscale("linear" if name == "noise" else "log")
    ax.set_xticks(values, [f"{value:g}" for value in values])
    ax.minorticks_off()
    ax.set(xlabel=label, ylabel="accuracy, fresh noise")


def _guesses(ax: Any) -> None:
    """Draw the accuracy of guessing, which falls with the number of classes."""
    n = ax.get_xticks()
    ax.plot(n, 1 / n, color="0.5", linestyle=":", linewidth=0.9)
    ax.annotate("chance", (n[0], 1 / n[0]), xytext=(0, -18), textcoords="offset points", color="0.5", fontsize=6.5)
    ax.set_ylim(0, 1.03)
