"""What of a Dataset of results is drawn: lines over seeds without trials that diverged, and what is said of those."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import xarray as xr
from numpy.typing import NDArray

from kenyon import _checks

WITHIN = ("episode", "neuron", "example", "step", "channel")  # dimensions along which nothing is swept
NUMBER = r"[-+]?(?:\d+\.?\d*|\.\d+)(?:e[-+]?\d+)?"
MOST_LINES = 16


class Line(NamedTuple):
    """A line of a picture."""

    learner: str
    other: str  # the value of a further setting, such as "noise = 0.1"
    x: NDArray[Any]
    values: NDArray[np.float64]  # (n_seeds, len(x)), NaN where there is none
    level: bool = False  # of a learner without the setting that is x


def prepared(results: xr.Dataset) -> xr.Dataset:
    """Return results with a dimension of learners, also where one was selected."""
    if not isinstance(results, xr.Dataset):
        raise ValueError(
            "results must be a Dataset, as kn.train, kn.train_in_turn and kn.open_results return, "
            f"not {_checks.short_repr(results)}"
        )
    empty = [str(name) for name, n in results.sizes.items() if n == 0]
    if empty:
        raise ValueError(f"results must hold values, but along {', '.join(empty)} there are none")
    if "learner" in results.dims:
        return results
    return (results if "learner" in results.coords else results.assign_coords(learner="")).expand_dims("learner")


def learners(results: xr.Dataset) -> list[str]:
    """Return the names of the learners."""
    return [str(name) for name in results["learner"].values]


def numeric(array: xr.DataArray) -> bool:
    """Tell whether an array holds numbers."""
    return array.dtype.kind in "fiu"


def measured(results: xr.Dataset, name: str) -> xr.DataArray:
    """Return a variable, NaN for all trials that diverged."""
    values = results[name].astype(np.float64)
    if "diverged_at" in results and set(results["diverged_at"].dims) <= set(values.dims):
        return values.where(~(results["diverged_at"] >= 0))
    return values


def several(values: xr.DataArray, *but: str) -> dict[str, int]:
    """Return the dimensions with several values, other than learner, seed and these, and how many values each has."""
    known = ("learner", "seed", *but)
    return {str(name): n for name, n in values.sizes.items() if n > 1 and name not in known}


def selected(results: xr.Dataset, name: str, along: str) -> xr.DataArray:
    """Return a variable over learner, seed and `along`; results that differ otherwise are refused."""
    if name not in results or not {"learner", along} <= set(results[name].dims) or not numeric(results[name]):
        raise ValueError(f"results must have {name} over learner and {along}; it has {_listed(results.data_vars)}")
    values = measured(results, name)
    more = several(values, along)
    if more:
        example = ", ".join(f"{other}={_first(values, other)}" for other in more)
        raise ValueError(
            f"results must be of one kind of trial, but differ in {_counted(more)}: select first, "
            f"such as results.sel({example})"
        )
    return values.squeeze([other for other in values.dims if other not in ("learner", "seed", along)], drop=True)


def by_seed(values: xr.DataArray, along: str) -> NDArray[np.float64]:
    """Return values with a row per seed."""
    values = values if "seed" in values.dims else values.expand_dims("seed")
    return np.asarray(values.transpose("seed", along).values, np.float64)


def notes(results: xr.Dataset, values: xr.DataArray, drawn: str = "mean and range") -> list[str]:
    """Return what must be said: what is drawn of how many seeds, and what is left out; refuse if all is."""
    inner = [name for name in values.dims if name in (*WITHIN, "stage", "group")]
    there = values.notnull().any(inner) if inner else values.notnull()
    diverged = there & False
    if "diverged_at" in results:
        diverged = (results["diverged_at"] >= 0) & ~there
    out = []
    for i, name in enumerate(learners(results)):
        found, gone = int(there.isel(learner=i).sum()), int(diverged.isel(learner=i).sum())
        if not found:
            out.append(f"{name} ({'diverged' if gone else 'no values'})")
        elif gone:
            out.append(f"{gone} of {gone + found} trials of {name} (diverged)")
    if not there.any():
        raise ValueError(f"results must hold something to draw, but left out are: {', '.join(out)}")
    n_seeds = values.sizes.get("seed", 1)
    seeds = [f"{drawn} over {n_seeds} seeds"] if n_seeds > 1 else []
    return [*seeds, *([f"left out: {', '.join(out)}"] if out else [])]


def kinds(results: xr.Dataset) -> dict[str, str]:
    """Return the kind of every learner by its name, as far as the attributes tell."""
    settings = _attribute(results, "learners") or _attribute(results, "config").get("learners")
    tables = settings if isinstance(settings, dict) else {}
    return {name: str((tables.get(name) or {}).get("kind", "")) for name in learners(results)}


def guess(results: xr.Dataset) -> float | None:
    """Return the accuracy of guessing, if all trials have the same number of classes and it is known."""
    config = _attribute(results, "config")
    tasks = [config.get("task"), *(config.get("tasks") or [])]
    found = [task["n_classes"] for task in tasks if isinstance(task, dict) and "n_classes" in task]
    found += [config["task.n_classes"]] if "task.n_classes" in config else []
    if "n_classes" in results.coords:
        found = list(np.unique(results["n_classes"].values))
    return 1 / float(found[0]) if len(found) and len(set(found)) == 1 else None


def measure(results: xr.Dataset, y: str) -> xr.DataArray:
    """Return the variable that a sweep shows; refuse what has no single number for each learner and trial."""

    def fits(name: Any) -> bool:
        dims = results[name].dims
        return name != "diverged_at" and "learner" in dims and not {*dims} & {*WITHIN} and numeric(results[name])

    if not isinstance(y, str) or y not in results.data_vars or not fits(y):
        known = [name for name in results.data_vars if fits(name)]
        raise ValueError(f"y must be one of {_listed(known)}, not {_checks.short_repr(y)}")
    return measured(results, y)


def choices(values: xr.DataArray, names: Sequence[str]) -> dict[str, int]:
    """Return the settings that can be the x of a sweep, with how many values each has: of trials, or of learners."""
    return several(values) or of_learners(names)


def of_learners(names: Sequence[str]) -> dict[str, int]:
    """Return the settings in the names of learners, such as mu in "Normalised mu=0.2", that have several values."""
    found: dict[str, set[float]] = {}
    for name in names:
        for setting, value in re.findall(rf" (\w+)=({NUMBER})(?= |$)", name):
            found.setdefault(setting, set()).add(float(value))
    return {setting: len(values) for setting, values in found.items() if len(values) > 1}


def lines(results: xr.Dataset, values: xr.DataArray, x: str) -> list[Line]:
    """Return a line for each learner and each value of one further setting; refuse what would be too many."""
    names = learners(results)
    along = dimension(values, x, names)
    more = several(values, along)
    kept = ("learner", "seed", along, *more)
    values = values.squeeze([name for name in values.dims if name not in kept], drop=True)
    families = _families(values, x, names) if along == "learner" else _members(values, x, names)
    n_lines = len(families) * int(np.prod([*more.values()]))
    if len(more) > 1 or (more and n_lines > MOST_LINES):
        example = ", ".join(f"{name}={_first(values, name)}" for name in [*more][-1:])
        raise ValueError(
            f"results differ in {_counted(more)} besides x={x!r}, which is too much for one picture: "
            f"select first, such as results.sel({example})"
        )
    found = []
    for learner, at, own in families:
        level = along == "learner" and learner in names
        for other, part in _parts(own, *more):
            order = np.argsort(at, kind="stable") if at.dtype.kind in "fiu" else np.arange(len(at))
            found.append(Line(learner, other, at[order], by_seed(part, along)[:, order], level))
    return [line for line in found if np.isfinite(line.values).any()]


def dimension(values: xr.DataArray, x: str, names: Sequence[str]) -> str:
    """Return the dimension along which a setting changes; learner, if it is in their names."""
    if isinstance(x, str):
        if x in values.dims and x not in ("learner", "seed"):
            return x
        if x in values.coords and values.coords[x].ndim == 1 and values.coords[x].dims[0] not in ("learner", "seed"):
            return str(values.coords[x].dims[0])
        if x in of_learners(names):
            return "learner"
    along = [str(name) for name, found in values.coords.items() if found.ndim == 1 and found.dims[0] in several(values)]
    known = dict.fromkeys([*several(values), *along, *of_learners(names)])
    raise ValueError(f"x must be a setting that was swept ({_listed(known)}), not {_checks.short_repr(x)}")


Family = tuple[str, NDArray[Any], xr.DataArray]  # its name, x, and values


def _members(values: xr.DataArray, x: str, names: Sequence[str]) -> list[Family]:
    at = positions(values, x)
    return [(name, at, values.isel(learner=i)) for i, name in enumerate(names)]


def _families(values: xr.DataArray, x: str, names: Sequence[str]) -> list[Family]:
    """Put learners together that differ in x alone; those without x have the same values at both ends of it."""
    setting = re.compile(rf" {x}=({NUMBER})(?= |$)")
    found: dict[str, list[tuple[float, int]]] = {}
    for i, name in enumerate(names):
        match = setting.search(name)
        found.setdefault(setting.sub("", name), []).append((float(match[1]) if match else np.nan, i))
    at = [value for members in found.values() for value, _ in members]
    ends = [float(np.nanmin(at)), float(np.nanmax(at))]
    families = []
    for name, members in found.items():
        given = [(value, i) for value, i in members if np.isfinite(value)]
        given = given or [(end, members[0][1]) for end in ends]
        own = values.isel(learner=[i for _, i in given]).drop_vars("learner", errors="ignore")
        families.append((name, np.array([value for value, _ in given]), own))
    return families


def positions(values: xr.DataArray | xr.Dataset, x: str) -> NDArray[Any]:
    """Return the values of a setting: numbers, or else texts."""
    found = values[x]
    return np.asarray(found.values) if numeric(found) else np.array([str(value) for value in found.values])


def _parts(values: xr.DataArray, *settings: str) -> list[tuple[str, xr.DataArray]]:
    """Return the values for each value of a setting, named by it; or all of them."""
    if not settings:
        return [("", values)]
    (name,) = settings
    at = positions(values, name)
    return [(said(name, value), values.isel({name: i})) for i, value in enumerate(at)]


def said(name: str, value: Any) -> str:
    """Return a setting and its value in words."""
    return f"{name} = {value:g}" if np.asarray(value).dtype.kind in "fiu" else f"{name} = {value}"


def _first(values: xr.DataArray, name: str) -> str:
    found = values[name].values[0]
    return repr(found.item() if isinstance(found, np.generic) else found)


def _counted(dimensions: dict[str, int]) -> str:
    return " and ".join(f"{name} ({n} values)" for name, n in dimensions.items())


def _listed(names: Any) -> str:
    return ", ".join(map(str, names)) or "none"


def _attribute(results: xr.Dataset, name: str) -> dict[str, Any]:
    """Return an attribute that holds JSON; empty if it is not there: much that is done with Datasets drops it."""
    try:
        found = json.loads(results.attrs.get(name, "{}"))
    except (TypeError, ValueError):
        return {}
    return found if isinstance(found, dict) else {}
