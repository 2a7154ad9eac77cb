"""Pictures of results: functions of what `train`, `train_in_turn` and `open_results` return; nothing is simulated.

A line is the mean over seeds, and the band around it reaches from the lowest seed to the highest. Trials that diverged
are left out, and a note above the axes says so.
"""

from __future__ import annotations

import textwrap
from typing import TYPE_CHECKING, Any

import numpy as np
import xarray as xr
from numpy.typing import NDArray

from kenyon import _shown
from kenyon._looks import FAINT, MAP, Look, axes, looks, plain, stroke, write_cells
from kenyon._shown import Line
from kenyon._variables import label

if TYPE_CHECKING:
    from matplotlib.axes import Axes

BINS = 40  # of thresholds
LOG_SPAN = 50  # ratio of the largest to the smallest x from which the axis is logarithmic
MOST_TICKS = 9
LETTERS = 13  # of a note in an inch
MOST_CELLS = 100  # of a heat map, into which their values are written


def plot_curves(results: xr.Dataset, *, ax: Axes | None = None) -> Axes:
    """Plot accuracy while learning against episodes: a line per learner, the mean and range over seeds.

    Parameters
    ----------
    results
        What `train`, `train_in_turn` or `open_results` returned, of one kind of trial: where settings were swept,
        select first, such as `results.sel(size=20, noise=0.1)`. Dotted lines separate tasks learned in turn.
    ax
        Axes to draw on; new ones if left out.
    """
    results = _shown.prepared(results)
    values = _shown.selected(results, "training_accuracy", "episode")
    notes, new, ax = _shown.notes(results, values), ax is None, axes(ax)
    episode = np.asarray(values["episode"].values)
    for i, seen in enumerate(looks(_shown.kinds(results)).values()):
        line = Line(seen.label, "", episode, _shown.by_seed(values.isel(learner=i), "episode"))
        every = max(1, len(episode) // 5)
        _draw(ax, line, seen, markevery=(every // 2, every))
    for end in np.linspace(0, episode[-1], results.sizes.get("stage", 1) + 1)[1:-1]:
        ax.axvline(end, color=FAINT, linestyle=":", linewidth=0.8, zorder=0)
    ax.set(xlabel=label("episode"), ylabel=label("training_accuracy"), xlim=(0, episode[-1]))
    _accuracy_axis(ax, _shown.guess(results))
    return _finished(ax, notes, new=new)


def plot_thresholds(results: xr.Dataset, *, ax: Axes | None = None) -> Axes:
    """Plot the distribution of thresholds over neurons: an outline per learner, the mean over seeds.

    Where all neurons have one threshold, it is an upright line. The thresholds that learners began with are dashed.

    Parameters
    ----------
    results
        What `train` returned, or `open_results` with `neurons=True`, of one kind of trial: where settings were swept,
        select first, such as `results.sel(size=20, noise=0.1)`.
    ax
        Axes to draw on; new ones if left out.
    """
    results = _shown.prepared(results)
    if "theta" not in results:
        raise ValueError(
            "results has no theta: open_results leaves out what is stored for each neuron, "
            "unless you write open_results(folder, neurons=True); train_in_turn keeps none"
        )
    values = _shown.selected(results, "theta", "neuron")
    notes, new, ax = _shown.notes(results, values, "mean"), ax is None, axes(ax)
    start = _shown.selected(results, "start_theta", "neuron") if "start_theta" in results else None
    edges = _edges([values] if start is None else [values, start])
    for i, seen in enumerate(looks(_shown.kinds(results)).values()):
        if bool(values.isel(learner=i).notnull().any()):
            _distribution(ax, _shown.by_seed(values.isel(learner=i), "neuron"), edges, seen)
            if start is not None:
                _distribution(ax, _shown.by_seed(start.isel(learner=i), "neuron"), edges, seen, start=True)
    if start is not None:
        ax.plot([], [], color=FAINT, linestyle="--", linewidth=1, label="at the start")
    ax.set(xlabel=label("theta"), ylabel="neurons", ylim=(0, None))
    return _finished(ax, notes, new=new)


def plot_sweep(results: xr.Dataset, x: str | None = None, y: str = "accuracy", *, ax: Axes | None = None) -> Axes:
    """Plot a measure against a setting that was swept: a line per learner, the mean and range over seeds.

    If one more setting was swept, there is a line for each of its values too. Results of a single learner in which two
    settings were swept, without `x`, are a heat map of means.

    Parameters
    ----------
    results
        What `open_results` returned. If more than two settings were swept, select values of the others first, such as
        `results.sel(size=20)`.
    x
        The setting: a dimension of the results, a coordinate along one, or a setting in the names of learners, such as
        "mu" for "Normalised mu=0.2" and "Normalised mu=0.5". It need not be named if only one was swept.
    y
        The measure: a variable with one number for each learner and trial, such as "accuracy" or "coding_level".
    ax
        Axes to draw on; new ones if left out.
    """
    results = _shown.prepared(results)
    values = _shown.measure(results, y)
    names = _shown.learners(results)
    choices = _shown.choices(values, names)
    if x is None and len(_shown.several(values)) == 2 and len(names) == 1:
        return _heat_map(results, values, y, ax)
    x = _only(choices) if x is None else x
    found, notes = _shown.lines(results, values, x), _shown.notes(results, values)
    new, ax = ax is None, axes(ax)
    _draw_lines(ax, found, _shown.kinds(results))
    ax.set(xlabel=label(x), ylabel=label(y))
    if y.endswith("accuracy"):
        _accuracy_axis(ax, _shown.guess(results))
        if x == "n_classes":
            ax.plot(found[0].x, 1 / found[0].x, color=FAINT, linestyle=":", label="chance")
    return _finished(ax, notes, new=new)


def _only(choices: dict[str, int]) -> str:
    """Return the one setting that was swept; otherwise say what there is."""
    if len(choices) == 1:
        return next(iter(choices))
    if not choices:
        raise ValueError("x: no setting was swept, for results differ only in learner and seed; plot_curves draws them")
    listed = " and ".join(f"{name} ({n} values)" for name, n in choices.items())
    raise ValueError(
        f"x must be one of the settings that were swept, {listed}, such as x={next(iter(choices))!r}; "
        "or select values until one is left, as with results.sel"
    )


def _draw_lines(ax: Axes, found: list[Line], kinds: dict[str, str]) -> None:
    families, others = (
        list(dict.fromkeys(line.learner for line in found)),
        list(dict.fromkeys(line.other for line in found)),
    )
    seen = looks({name: kinds.get(name) or name.partition(" ")[0] for name in families})
    for i, line in enumerate(found):
        one = _tinted(seen[line.learner], others.index(line.other), len(others), alone=len(families) == 1)
        named = [line.learner] * (len(families) > 1 or not line.other) + [line.other] * bool(line.other)
        one = one._replace(label=plain(", ".join(named)))
        if line.x.dtype.kind in "fiu":
            _draw(ax, line, one._replace(marker="") if line.level else one)
        else:
            _draw_points(ax, line, one, 0.5 * ((i + 0.5) / len(found) - 0.5))
    _x_axis(ax, found)


def _tinted(seen: Look, i: int, n: int, *, alone: bool) -> Look:
    """Return how the i-th value of a further setting is drawn: in a shade of the map, or of the learner's colour."""
    from matplotlib import colormaps, colors

    if n == 1:
        return seen
    if alone:
        return seen._replace(colour=colors.to_hex(colormaps[MAP](0.85 * i / (n - 1))), dash="-")
    share = 1 - 0.65 * (n - 1 - i) / (n - 1)
    return seen._replace(colour=colors.to_hex(share * np.array(colors.to_rgb(seen.colour)) + 1 - share))


def _draw(ax: Axes, line: Line, seen: Look, **more: Any) -> None:
    """Draw a line through the means, and a band over the range."""
    x, mean, low, high = _ranges(line)
    if len(x):
        if len(line.values) > 1:
            ax.fill_between(x, low, high, color=seen.colour, alpha=0.2, linewidth=0)
        ax.plot(x, mean, **stroke(seen) | more)


def _draw_points(ax: Axes, line: Line, seen: Look, shift: float) -> None:
    """Draw means as points with bars over the range, a little beside one another."""
    x, mean, low, high = _ranges(line._replace(x=np.arange(len(line.x)) + shift))
    bars = [mean - low, high - mean] if len(line.values) > 1 else None
    ax.errorbar(x, mean, bars, elinewidth=0.9, capsize=1.6, **stroke(seen) | {"linestyle": ""})


def _ranges(line: Line) -> tuple[NDArray[Any], ...]:
    there = np.isfinite(line.values).any(axis=0)
    values = line.values[:, there]
    return line.x[there], np.nanmean(values, axis=0), np.nanmin(values, axis=0), np.nanmax(values, axis=0)


def _x_axis(ax: Axes, found: list[Line]) -> None:
    """Put ticks at the values of a setting, where they are few, and a logarithmic axis where they span much."""
    x = found[0].x
    if x.dtype.kind not in "fiu":
        ax.set_xticks(range(len(x)), [plain(str(value)) for value in x])
        return
    x = np.unique(np.concatenate([line.x for line in found]))
    if x[0] > 0 and x[-1] >= LOG_SPAN * x[0]:
        ax.set_xscale("log")
    if len(x) <= MOST_TICKS:
        ax.set_xticks(x, [f"{value:g}" for value in x])
        ax.set_xticks([], minor=True)


def _heat_map(results: xr.Dataset, values: xr.DataArray, y: str, ax: Axes | None) -> Axes:
    """Draw the means of one learner over two settings; the one with more values is x."""
    notes, ax = _shown.notes(results, values, "mean"), axes(ax)
    down, across = sorted(_shown.several(values), key=lambda name: values.sizes[name])
    means = values.mean([name for name in values.dims if name not in (down, across)]).transpose(down, across)
    accuracy = y.endswith("accuracy")
    low, high = (_shown.guess(results) or 0.0, 1.0) if accuracy else (float(means.min()), float(means.max()))
    image = ax.imshow(means.values, cmap=MAP, vmin=low, vmax=high, origin="lower", aspect="auto")
    ax.figure.colorbar(image, ax=ax, label=label(y))
    if means.size <= MOST_CELLS:
        write_cells(ax, means.values, (low + high) / 2, 7)
    for name, ticks in ((across, ax.set_xticks), (down, ax.set_yticks)):
        at = _shown.positions(means, name)
        every = -(-len(at) // (2 * MOST_TICKS))
        texts = [f"{value:g}" if at.dtype.kind in "fiu" else plain(str(value)) for value in at]
        ticks(range(0, len(at), every), texts[::every])
    ax.set(xlabel=label(across), ylabel=label(down))
    return _titled(ax, [*filter(None, _shown.learners(results)), *notes])


def _edges(arrays: list[xr.DataArray]) -> NDArray[np.float64]:
    """Return the edges of bins for all thresholds."""
    every = np.concatenate([array.values[np.isfinite(array.values)] for array in arrays])
    return np.asarray(np.histogram_bin_edges(every, BINS))


def _distribution(
    ax: Axes, theta: NDArray[np.float64], edges: NDArray[np.float64], seen: Look, start: bool = False
) -> None:
    """Draw thresholds, a row per seed: the number of neurons in each bin, or where all of them are."""
    theta = theta[np.isfinite(theta).any(axis=1)]
    look: dict[str, Any] = {"color": seen.colour, "linestyle": "--" if start else "-", "linewidth": 1 if start else 1.5}
    name = None if start else seen.label
    if not len(theta):
        return
    if np.all(np.nanmin(theta, axis=1) == np.nanmax(theta, axis=1)):
        at = theta[:, 0]
        ax.axvline(at.mean(), label=name and f"{name}, one for all neurons", **look)
        if len(at) > 1 and not start:
            ax.axvspan(at.min(), at.max(), color=seen.colour, alpha=0.15, linewidth=0)
        return
    counts, _ = np.histogram(theta[np.isfinite(theta)], edges)
    if not start:
        ax.stairs(counts / len(theta), edges, color=seen.colour, alpha=0.2, fill=True)
    ax.stairs(counts / len(theta), edges, label=name, **look)


def _accuracy_axis(ax: Axes, level: float | None) -> None:
    """Draw the accuracy of guessing, where it is known, and let the axis reach from there, or from below, to 1."""
    lowest = min(float(other.dataLim.y0) for other in ax.get_shared_y_axes().get_siblings(ax))
    if level is not None:
        ax.axhline(level, color=FAINT, linestyle=":", linewidth=1, zorder=0, label="chance")
        lowest = min(lowest, level)
    room = 0.05 * (1 - lowest) or 0.05
    ax.set_ylim(lowest - room, 1 + room / 2)


def _finished(ax: Axes, notes: list[str], *, new: bool) -> Axes:
    """Add legend and notes: the legend beside new axes, and within those given, next to which may be others."""
    ax.spines[["top", "right"]].set_visible(False)
    place: dict[str, Any] = {"loc": "center left", "bbox_to_anchor": (1.0, 0.5)} if new else {}
    ax.legend(frameon=False, fontsize="small", **place)
    return _titled(ax, notes)


def _titled(ax: Axes, notes: list[str]) -> Axes:
    width = int(LETTERS * ax.get_window_extent().width / ax.figure.dpi)
    text = "\n".join(line for note in notes for line in textwrap.wrap(plain(note), max(width, 20)))
    ax.set_title(text, loc="left", fontsize="small", color=FAINT)
    return ax
