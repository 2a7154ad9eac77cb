"""A picture of the results in a folder, for the command line."""

from __future__ import annotations

import io
from collections.abc import Callable
from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING, Any

import xarray as xr

from kenyon import _checks, _shown
from kenyon._files import write_whole
from kenyon._looks import plain
from kenyon.experiment.results import open_results
from kenyon.experiment.store import Store
from kenyon.plots import plot_curves, plot_sweep, plot_thresholds

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

KINDS = ("curves", "thresholds", "sweep")
FORMATS = {".png": {"Software": None}, ".svg": {"Date": None}, ".pdf": {"CreationDate": None}}  # no date: same bytes
MOST_PANELS, COLUMNS = 12, 4
SIZE, SMALL = (6.4, 4.4), (3.4, 3.0)  # of a panel that is alone, and of others, in inches


def write_picture(
    folder: str | Path,
    file: str | Path | None = None,
    experiment: str | None = None,
    *,
    kind: str | None = None,
    x: str | None = None,
    y: str | None = None,
) -> Path:
    """Draw the results in a folder, and return the file: by default a PNG file there, named after the experiment.

    The kind is by default a sweep if any setting was swept, and curves otherwise; see `draw`.
    """
    folder = Path(folder)
    path = Path(file) if file is not None else folder / f"{experiment or _name(folder)}.png"
    if path.suffix not in FORMATS:
        raise ValueError(f"{path} must end in {', '.join(FORMATS)}")
    if kind is not None:
        _checks.one_of("kind", kind, KINDS)
    figure = draw(open_results(folder, experiment, neurons=kind == "thresholds"), kind, x, y)
    try:
        write_whole(path, _contents(figure, path.suffix))
    except OSError as error:
        raise ValueError(f"{path} cannot be written: {(error.strerror or str(error)).lower()}") from None
    return path


def draw(results: xr.Dataset, kind: str | None = None, x: str | None = None, y: str | None = None) -> Figure:
    """Return a figure with a panel for each combination of the settings that one picture has no room for."""
    given = [name for name, value in (("x", x), ("y", y)) if value is not None]
    if given and kind not in (None, "sweep"):
        raise ValueError(f"{given[0]} is for sweeps: write --kind sweep, or leave it out")
    results = _shown.prepared(results)
    y = y or ("accuracy" if "accuracy" in results else "group_accuracy")
    values, names = _shown.measure(results, y), _shown.learners(results)
    settings = list(_shown.several(values, "stage", "group"))
    if kind == "sweep" or (kind is None and (given or settings or _shown.of_learners(names))):
        whole = x is None and len(names) == 1 and len(_shown.several(values)) == 2  # a heat map
        x = None if whole else x or _most(values, _shown.choices(values, names))
        others = [] if x is None else list(_shown.several(values, _shown.dimension(values, x, names)))
        return _panels(results, others, lambda part, ax: plot_sweep(part, x, y, ax=ax))
    plot: Callable[..., Axes] = plot_thresholds if kind == "thresholds" else plot_curves
    return _panels(results, settings, lambda part, ax: plot(part, ax=ax))


def _most(values: xr.DataArray, choices: dict[str, int]) -> str | None:
    """Return the setting with most values, of those with numbers if there are any."""
    numbers = {name: n for name, n in choices.items() if name not in values.coords or _shown.numeric(values[name])}
    return max(numbers or choices, key=lambda name: choices[name], default=None)


def _panels(results: xr.Dataset, settings: list[str], plot: Callable[[xr.Dataset, Axes], Axes]) -> Figure:
    from matplotlib.figure import Figure

    chosen = [
        dict(zip(settings, place, strict=True)) for place in product(*(range(results.sizes[s]) for s in settings))
    ]
    if len(chosen) > MOST_PANELS:
        raise ValueError(
            f"a panel for each value of {' and '.join(settings)} would be {len(chosen)}, above {MOST_PANELS}; "
            "select some in Python: kn.plot_sweep(kn.open_results(folder).sel(...))"
        )
    columns = min(len(chosen), COLUMNS)
    rows = -(-len(chosen) // columns)
    width, height = SIZE if len(chosen) == 1 else SMALL
    figure = Figure(figsize=(max(width * columns, SIZE[0]), height * rows), layout="constrained")
    every = figure.subplots(rows, columns, squeeze=False, sharey=True)
    for ax, place in zip(every.flat, chosen, strict=False):
        heads = [_shown.said(name, _shown.positions(results, name)[i]) for name, i in place.items()]
        _panel(ax, plot, results.isel(place), ", ".join(heads))
    for ax in every.ravel()[len(chosen) :]:
        ax.set_axis_off()
    for ax in every[:, 1:].flat:
        ax.set_ylabel("")
    _share_legend(figure, every.ravel(), columns)
    return figure


def _panel(ax: Axes, plot: Callable[[xr.Dataset, Axes], Axes], part: xr.Dataset, head: str) -> None:
    """Draw a panel, its settings above its notes; one in which everything diverged is empty and says so."""
    if head and not bool(part["diverged_at"].min() < 0):
        ax.set_title(f"{plain(head)}: all diverged", loc="left", fontsize="small")
        return
    plot(part, ax)
    if head:
        ax.set_title(f"{plain(head)}\n{ax.get_title(loc='left')}".strip(), loc="left", fontsize="small")


def _share_legend(figure: Figure, every: Any, columns: int) -> None:
    """Replace the legends of all panels by one below them."""
    handles: dict[str, Any] = {}
    for ax in every:
        handles |= {name: handle for handle, name in zip(*ax.get_legend_handles_labels(), strict=True)}
        if ax.get_legend() is not None:
            ax.get_legend().remove()
    if handles:
        figure.legend(
            list(handles.values()), list(handles), loc="outside lower center", ncols=columns + 2, frameon=False
        )


def _contents(figure: Figure, suffix: str) -> bytes:
    """Return the file of a figure, the same bytes for the same picture."""
    from matplotlib import rc_context

    contents = io.BytesIO()
    with rc_context({"svg.hashsalt": "kenyon"}):
        figure.savefig(contents, format=suffix[1:], dpi=200, metadata=FORMATS[suffix])
    return contents.getvalue()


def _name(folder: Path) -> str:
    """Return the name of the experiment in a folder, or of the folder if there are several."""
    known = list(Store(folder).experiments())
    return known[0] if len(known) == 1 else folder.resolve().name
