"""Figures S1 to S3: controls, capacity, and other forms of the input weights."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import xarray as xr

from kenyon._looks import FAINT, INK, ORANGE, Look, look, stroke
from kenyon.paper.figures import _parts as parts
from kenyon.paper.plan import Results, all_forms, joined
from kenyon.paper.style import FIVE, over, summary

CONTROLS = {
    "GradientWeights centred": "GD$_W$ on centred V",
    "GradientWeights standardised": "GD$_W$ on standardised V",
    "GradientThresholds prelearned": r"GD$_\theta$ from the prelearned start",
    "GradientThresholds high": r"GD$_\theta$ from {start} for all",
    "Composed high": r"Composed from {start}",
    "Metropolis from 0": "Metropolis from 0",
    "Metropolis per neuron": "Metropolis per neuron",
    "Metropolis per neuron from 0": "Metropolis per neuron from 0",
}
FORMS = {
    "lognormal": "lognormal\n(the paper's)",
    "fixed_degree": "fixed\ndegree",
    "uniform": "uniform",
    "gaussian": "dense\nGaussian",
}
HELD = "#999999"
CAPACITY = {  # from the best to the worst
    "Normalised both": Look("Normalised, cooling, on and off", ORANGE, "v"),
    "Ridge on on and off": Look("ridge on on and off, offline", "#56B4E9", "*", (0, (1, 1))),
    "Normalised on and off": Look("Normalised, on and off", ORANGE, "<", (0, (4, 1.5)), True),
    "Normalised both, thresholds held": Look("cooling, on and off, held", HELD, "s", (0, (4, 1.5))),
    "Normalised cooling": Look("Normalised, cooling", ORANGE, "^", (0, (1, 1)), True),
    "Ridge on x": look("Ridge on x"),
    "Normalised": Look("Normalised", "#E69F00", "D"),
    "Ridge": look("Ridge"),
    "Composed": look("Composed"),
}


def figure_s1(results: Results) -> Any:
    """Draw the accuracy of every control, best first, in three groups."""
    heads = {"connected": "Controls", "unconnected": "Unconnected neurons", "short": "Few episodes"}
    groups = [(head, results.get("S1", part)) for part, head in heads.items()]
    figure = parts.new_figure(19)
    axes = figure.subplots(3, 1, height_ratios=[data.learner.size + 1.2 for _, data in groups])
    for ax, letter, (head, data) in zip(axes, "abc", groups, strict=True):
        _dots(ax, data)
        episodes = f"{int(parts.setting(data, 'n_episodes')):,} episodes"
        parts.title(ax, letter, f"{head} ({int(data.size.max())} {parts.items(data)}, {episodes})")
        level = parts.guess(data)
        ax.axvline(level, color=FAINT, linestyle=":", linewidth=0.9, zorder=0)
        ticks = np.linspace(level, 1, 6)
        ax.set_xticks(ticks, [f"{ticks[0]:.2g}\nchance", *(f"{tick:.2g}" for tick in ticks[1:])])
        ax.set_xlim(min(0.9 * level, float(data.accuracy.min()) - 0.01), 1.015)
    axes[-1].set_xlabel("accuracy, fresh noise", labelpad=-6)
    if handles := parts.crossed(*[data.accuracy for _, data in groups]):
        axes[0].legend(handles=handles, loc="lower right")
    return figure


def control_label(name: str, data: xr.Dataset) -> str:
    """Return the label of a control."""
    if match := re.fullmatch(r"GradientThresholds percentile percentile=(\d+)", name):
        return rf"GD$_\theta$ from percentile {match[1]}"
    if match := re.fullmatch(r"GradientWeights batch=(\d+)", name):
        return f"GD$_W$, batch {match[1]}"
    label = CONTROLS.get(name, look(name).label)
    return label.replace("{start}", f"{parts.learner_setting(data, name, 'start')}")


def _dots(ax: Any, data: xr.Dataset) -> None:
    means = data.accuracy.mean(("size", "seed")).fillna(-1)
    names = [str(name) for name in data.learner.values[np.argsort(means.values, kind="stable")]]
    for row, name in enumerate(names):
        seen, values = look(name), data.accuracy.sel(learner=name).values.ravel()
        found = summary(values[:, None])
        ax.axhline(row, color="0.92", linewidth=0.6, zorder=0)
        ax.plot(values, np.full(len(values), row), ".", color=seen.colour, alpha=0.45, markersize=3, markeredgewidth=0)
        ax.plot([found.low[0], found.high[0]], [row, row], color=seen.colour, linewidth=1.6)
        ax.plot(found.mean, [row], **stroke(seen) | {"markersize": 4.5})
        if found.missing[0]:
            ax.plot(found.mean, [row], **parts.CROSS)
    ax.set_yticks(range(len(names)), [control_label(name, data) for name in names])
    ax.set_ylim(-0.8, len(names) - 0.2)
    ax.tick_params(axis="y", length=0)


def figure_s2(results: Results) -> Any:
    """Draw accuracy against the number of resampled stimuli, with Cover's limit."""
    data, n_neurons = joined(results, "S2"), int(parts.setting(results.get("S2"), "reservoir.n_neurons"))
    figure = parts.new_figure(9.2)
    variables = {"softmax": "accuracy", "argmax": "argmax_accuracy"}
    for ax, letter, (how, variable) in zip(parts.panels(figure, 1, 2), "ab", variables.items(), strict=True):
        parts.against(ax, data, variable, CAPACITY)
        parts.title(ax, letter, f"Resampled stimuli, choice by {how}")
        ax.set(xlabel=f"number of stimuli (N = {n_neurons} neurons)", ylabel="accuracy, fresh noise", xlim=(0, None))
        parts.accuracy_axis(ax, parts.guess(results.get("S2")))
        _cover(ax, 2 * n_neurons)
    parts.legend(figure, CAPACITY.values(), 3, parts.crossed(data.accuracy))
    return figure


def _cover(ax: Any, limit: int) -> None:
    """Draw how many stimuli in general position a linear readout can split into two random classes half of the time."""
    ax.axvline(limit, color=INK, linewidth=0.9, linestyle=(0, (1, 1.5)), zorder=0)
    side = "right" if limit > sum(ax.get_xlim()) / 2 else "left"
    place: dict[str, Any] = {"xycoords": ax.get_xaxis_transform(), "textcoords": "offset points", "va": "bottom"}
    offset = (-3, 0) if side == "right" else (3, 0)
    ax.annotate(f"Cover's limit\n2N = {limit}", (limit, 0.13), xytext=offset, ha=side, fontsize=7, **place)


def figure_s3(results: Results) -> Any:
    """Draw accuracy for other forms of the input weights, by softmax and by argmax."""
    data = all_forms(results)
    figure = parts.new_figure(13.5)
    axes = parts.panels(figure, 2, 2)
    _forms(axes[0, 0], data, "accuracy")
    _forms(axes[0, 1], data, "argmax_accuracy")
    parts.title(axes[0, 0], "a", rf"Forms of $W_{{in}}$, choice by softmax ({int(data.size.max())} stimuli)")
    parts.title(axes[0, 1], "b", "The same, choice by argmax")
    for ax, letter, figure_name in zip(axes[1], "cd", ("2", "4"), strict=True):
        sizes = results.get(figure_name)
        parts.against(ax, sizes, "argmax_accuracy", parts.named(sizes, FIVE))
        parts.title(ax, letter, f"Choice by argmax, {parts.items(sizes)}")
        ax.set(xlabel=f"number of {parts.items(sizes)}", xlim=(0, None))
    for ax in axes.flat:
        parts.accuracy_axis(ax, parts.guess(data))
        ax.set_ylabel("accuracy, fresh noise")
    parts.legend(figure, parts.named(data, FIVE).values(), 5, parts.crossed(data.accuracy))
    return figure


def _forms(ax: Any, data: xr.Dataset, variable: str) -> None:
    forms = [form for form in FORMS if form in data.input_weights.values]
    looks = parts.named(data, FIVE)
    for i, (name, seen) in enumerate(looks.items()):
        values = summary(over(data[variable].sel(learner=name, input_weights=forms).isel(size=0), "input_weights"))
        shift = 0.09 * (i - (len(looks) - 1) / 2)
        parts.points(ax, np.arange(len(forms)) + shift, values, seen._replace(dash=""))
    ax.set_xticks(range(len(forms)), [FORMS[form] for form in forms])
    ax.set_xlim(-0.5, len(forms) - 0.5)
