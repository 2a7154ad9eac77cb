"""One trial: from a configuration to its result, with where, when and by what it was made."""

from __future__ import annotations

import io
import json
import time
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from hashlib import sha256
from typing import Any

import numpy as np
import xarray as xr
from threadpoolctl import threadpool_limits

from kenyon import _checks, _seeding
from kenyon.experiment.config import FORMAT, TrialConfig
from kenyon.learning.learners import HALVINGS, GradientWeights
from kenyon.learning.training import train, train_in_turn
from kenyon.provenance import environment
from kenyon.reservoir import Reservoir
from kenyon.tasks import Task

SEAL = b"\nkenyon sha256 "  # stands before the digest that ends a file; no JSON or HDF5 of ours holds it
Train = Callable[[Mapping[str, Any]], xr.Dataset]


def run_trial(config: TrialConfig, *, threads: int = 1, progress: bool = False, commit: str = "") -> xr.Dataset:
    """Run one trial and return its result.

    A plain readout (`GradientWeights`) that diverges is trained again with half its learning rate until it does not:
    comparisons are to favour it. What became of the rate is in the variable `eta_w`. Other learners that diverge are
    NaN, and `diverged_at` says when.

    Parameters
    ----------
    config
        What to run.
    threads
        Number of threads; the result does not depend on it.
    progress
        Show a progress bar.
    commit
        A git commit to note in the provenance.
    """
    _checks.instance("config", config, TrialConfig)
    commit, progress = _checks.instance("commit", commit, str), _checks.flag("progress", progress)
    began, start = datetime.now(UTC), time.perf_counter()
    with threadpool_limits(1, "blas"):  # sums depend on the number of threads
        task = config.task.build(config.seed)
        reservoir = config.reservoir.build(len(task.odours.channels), config.seed)
        settings: dict[str, Any] = {
            "seed": config.seed, "n_bins": config.n_bins, "n_test": config.n_test,
            "threads": threads, "diverged": "record", "progress": progress,
        }  # fmt: skip

        def learn(learners: Mapping[str, Any]) -> xr.Dataset:
            if config.task.groups > 1:
                tasks = task.split(config.task.groups)
                return train_in_turn(learners, reservoir, tasks, config.n_episodes, **settings)
            return train(learners, reservoir, task, config.n_episodes, **settings)

        result = _train({name: one.build() for name, one in config.learners.items()}, learn)
        if config.examples:
            result = result.assign(_examples(reservoir, task, config.examples, config.seed))
    result.attrs = {
        "kenyon_format": FORMAT,
        "id": config.id,
        "config": config.canonical(),
        "prelearning": result.attrs.get("prelearning", "{}"),
        "diverged": result.attrs.get("diverged", "{}"),
        "variables": json.dumps(
            {str(name): [list(one.dims), digest(one.values)] for name, one in result.variables.items()}
        ),
        "provenance": json.dumps({**environment(), "commit": commit, **_timing(began, time.perf_counter() - start)}),
    }
    return result


def execute(config: str, commit: str) -> bytes:
    """Run a trial given as JSON and return its result as a netCDF file: what goes to a worker, and comes back."""
    threadpool_limits(1)  # for good: this process is a worker's
    result = run_trial(TrialConfig.model_validate_json(config), commit=commit)
    return to_bytes(result)


def to_bytes(result: xr.Dataset) -> bytes:
    """Return a result as the contents of a netCDF file, sealed.

    Written without xarray, whose locks want a scheduler when on a worker of Dask.
    """
    import h5netcdf
    import h5py

    contents = io.BytesIO()
    with h5netcdf.File(contents, "w") as file:
        file.dimensions = {str(name): size for name, size in result.sizes.items()}
        for name, variable in result.variables.items():
            dimensions, values = tuple(map(str, variable.dims)), variable.values
            if values.dtype.kind in "OTU":
                file.create_variable(str(name), dimensions, h5py.string_dtype())[...] = values.astype(object)
            else:
                file.create_variable(str(name), dimensions, data=values)
        file.attrs.update(result.attrs)
    return seal(contents.getvalue())


def seal(contents: bytes) -> bytes:
    """Return the contents of a file with their digest behind them, where the HDF5 library does not look."""
    return contents + SEAL + sha256(contents).hexdigest().encode()


def unsealed(contents: bytes) -> bytes:
    """Return the contents of a sealed file, refusing them if they have changed; older files have no seal.

    The library is not made for damaged files, and can hang on one: it is to see none.
    """
    inner, mark, expected = contents.rpartition(SEAL)
    if not mark:
        return contents
    if sha256(inner).hexdigest().encode() != expected:
        raise ValueError("its contents are not what was written")
    return inner


def digest(values: Any) -> str:
    """Return a hash of an array's contents."""
    array = np.asarray(values)
    text = array.astype("U") if array.dtype.kind in "OTU" else array
    contents = "\0".join(text.ravel()).encode() if text.dtype.kind == "U" else np.ascontiguousarray(text).tobytes()
    return sha256(contents).hexdigest()[:16]


def _train(learners: Mapping[str, Any], learn: Train) -> xr.Dataset:
    """Train all learners, plain readouts that diverge at half their rates until they do not."""
    learners, result = dict(learners), learn(learners)
    for _ in range(HALVINGS):
        again = {
            name: one.slowed(0.5)
            for name, one in learners.items()
            if isinstance(one, GradientWeights) and one.eta_w > 0 and result.diverged_at.sel(learner=name) >= 0
        }
        if not again:
            break
        learners.update(again)
        result = _replaced(result, learn(again))
    rates = [float(getattr(one, "eta_w", np.nan)) for one in learners.values()]
    return result.assign(eta_w=("learner", rates))


def _replaced(result: xr.Dataset, new: xr.Dataset) -> xr.Dataset:
    """Return a result with some of its learners' parts replaced."""
    names = [str(name) for name in result.learner.values]
    parts = [(new if name in new.learner else result).sel(learner=[name]) for name in names]
    merged = xr.concat(parts, "learner", data_vars="all", combine_attrs="override")
    failed = json.loads(result.attrs.get("diverged", "{}"))
    failed = {name: text for name, text in failed.items() if name not in new.learner}
    merged.attrs = {**result.attrs, "diverged": json.dumps({**failed, **json.loads(new.attrs.get("diverged", "{}"))})}
    return merged


def _examples(reservoir: Reservoir, task: Task, n: int, seed: int) -> dict[str, Any]:
    """Return states of episodes of `n` different items, or as many as there are, and how the first came about."""
    draw = task.draw(max(100, 20 * len(task)), _seeding.derive(seed, "examples"))
    _, first = np.unique(draw.items, return_index=True)
    chosen = np.sort(first)[:n]
    draw = type(draw)(draw.items[chosen], draw.labels[chosen], draw.keys[chosen])
    inputs = task.show(draw)
    trace = np.asarray(reservoir.run(inputs[:1], trajectory=True))[0]
    return {
        "example_state": (("example", "neuron"), reservoir.run(inputs)),
        "example_label": ("example", draw.labels),
        "example_name": ("example", [" + ".join(task.names(item)) for item in draw.items]),
        "trace_input": (("step", "channel"), inputs[0]),
        "trace_state": (("step", "neuron"), trace),
    }


def _timing(began: datetime, seconds: float) -> dict[str, Any]:
    return {"began": began.isoformat(timespec="seconds"), "seconds": round(seconds, 3)}
