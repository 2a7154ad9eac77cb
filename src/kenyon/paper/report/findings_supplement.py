"""What we found in the supplementary figures; see `found`."""

from __future__ import annotations

import json
from collections.abc import Callable

import numpy as np
import xarray as xr

from kenyon.paper.plan import Results
from kenyon.paper.report.finding import THREE, Found, by, episodes, ranking
from kenyon.paper.report.markup import Ranking, Table, learner_name, listing, number, share, spread


def _controls(results: Results) -> Found:
    data = results.get("S1", "connected").squeeze("size").accuracy
    kinds = {
        "Without thresholds": ("Ridge", "GradientWeights"),
        "Thresholds by gradient": ("GradientThresholds",),
        "Thresholds by search, and both": ("Metropolis", "Composed"),
    }
    sentences: list[str | Ranking] = [
        ranking(words, data.sel(learner=_of(data, kind))) for words, kind in kinds.items()
    ]
    tables = []
    for part, words in (("connected", ""), ("unconnected", "Without connections"), ("short", "After {} episodes")):
        one = results.get("S1", part).squeeze("size")
        if words:
            sentences.append(ranking(words.format(episodes(one)), one.accuracy))
        rows = [
            [learner_name(str(name)), *(spread(one[v].sel(learner=name), 3) for v in ("accuracy", "coding_level"))]
            for name in one.learner.values
        ]
        tables.append(Table(f"Controls, {part}", ["readout", "accuracy", "active"], rows))
    return Found(sentences, tables)


def _of(data: xr.DataArray, kinds: tuple[str, ...]) -> list[str]:
    return [str(name) for name in data.learner.values if str(name).startswith(kinds)]


def _capacity(results: Results) -> Found:
    data = results.get("S2")
    sizes = [int(data["size"].values[i]) for i in (0, -1)]
    n_neurons = json.loads(data.attrs["config"])["reservoir.n_neurons"]
    sentences: list[str | Ranking] = [
        ranking(f"At {size} resampled odours", data.accuracy.sel(size=size)) for size in sizes
    ]
    sentences.append(f"Cover's limit for {n_neurons} neurons is {2 * n_neurons}.")
    return Found(sentences, [by(data.accuracy, "size", "Accuracy by number of resampled odours", "odours")])


def _forms(results: Results) -> Found:
    data = results.get("S3").squeeze("size")
    data = data.assign_coords(input_weights=[str(form).replace("_", " ") for form in data.input_weights.values])
    forms = list(data.input_weights.values)
    orders = {form: _order(data.accuracy.sel(input_weights=form)) for form in forms}
    same = [form for form in forms if orders[form] == orders["lognormal"]]
    by_argmax = [form for form in forms if _order(data.argmax_accuracy.sel(input_weights=form)) == orders[form]]
    sentences = [
        f"With lognormal weights the order is {listing(orders['lognormal'])}, best first. The order of the means "
        f"is the same for {len(same)} of {len(forms)} forms"
        + (
            f"; it differs for {listing([form for form in forms if form not in same])}."
            if len(same) < len(forms)
            else "."
        ),
        f"By argmax the order of the means is that by softmax for {len(by_argmax)} of {len(forms)} forms.",
    ]
    tables = [
        by(data[name], "input_weights", f"Accuracy by {how}", "learner")
        for name, how in (("accuracy", "softmax"), ("argmax_accuracy", "argmax"))
    ]
    return Found(sentences, tables)


def _order(accuracy: xr.DataArray) -> list[str]:
    paper = accuracy.sel(learner=["GradientWeights", *THREE]).mean("seed", skipna=True).fillna(0.0)
    return [learner_name(str(paper.learner.values[i])) for i in np.argsort(-paper.values, kind="stable")]


def _stability(results: Results) -> Found:
    data = results.get("S4").squeeze("size")
    sentences = []
    for gain in data.input_gain.values:
        one = data.sel(input_gain=gain)
        means = one.accuracy.mean("seed", skipna=True).fillna(0.0)
        best = str(data.learner.values[int(means.values.argmax())])
        lost = float((one.diverged_at >= 0).mean())
        sentences.append(
            f"Input gain {gain:g}: best at theta = {best.rpartition('=')[2]}, "
            f"{spread(one.accuracy.sel(learner=best))}; {share(lost)} of the runs diverged or fell silent."
        )
    return Found(sentences, [by(data.accuracy, "input_gain", "Accuracy by threshold and input gain", "threshold")])


def _forgetting(results: Results) -> Found:
    data = results.get("S5").squeeze("size")
    last = data.group_accuracy.isel(stage=-1)
    fresh = xr.concat([data.group_accuracy.isel(stage=i, group=i) for i in range(data.sizes["group"])], "group")
    columns = (last.isel(group=0), last.mean("group"), fresh.mean("group"))
    rows = [
        [learner_name(str(name)), *(spread(one.sel(learner=name), 3) for one in columns)]
        for name in data.learner.values
    ]
    head = ["learner", "first group, at the end", "all groups, at the end", "each group, once learned"]
    sentences = [
        ranking(f"When the last of {data.sizes['group']} groups was learned, over all groups", last.mean("group")),
        ranking("On the first group", last.isel(group=0)),
    ]
    return Found(sentences, [Table("Accuracy on groups learned one after another", head, rows)])


def _normalised(results: Results) -> Found:
    sentences: list[str | Ranking] = []
    tables: list[Table] = []
    for part, what in (("parts static", "odours"), ("parts sequence", "sequences")):
        data = results.get("S6", part)
        size = int(data["size"].values[0])
        sentences.append(ranking(f"{size} {what}, one part removed at a time", data.accuracy.sel(size=size)))
    grid = results.get("S6", "numbers").squeeze("size").accuracy
    means = grid.mean("seed", skipna=True).fillna(0.0)
    low, high = (
        str(grid.learner.values[i]).removeprefix("grid ").replace(" ", ", ") for i in np.argsort(means.values)[[0, -1]]
    )
    least, most, middle = (number(float(one)) for one in (means.min(), means.max(), means.median()))
    sentences.append(
        f"Over {grid.sizes['learner']} settings of its three numbers accuracy lies between {least} ({low}) and {most} "
        f"({high}); the median is {middle}."
    )
    for part, dimension in (("classes", "n_classes"), ("neurons", "n_neurons"), ("noise", "noise")):
        accuracy = results.get("S6", part).squeeze("size").accuracy
        hardest = 0 if part == "neurons" else -1
        value = accuracy[dimension].values[hardest]
        sentences.append(ranking(f"{part.capitalize()}, {value:g}", accuracy.isel({dimension: hardest})))
        tables.append(by(accuracy, dimension, f"Accuracy by {part}", part))
    long = results.get("S6", "long").squeeze("size")
    sentences.append(ranking(f"{int(long['size'])} odours, after {episodes(long)} episodes", long.accuracy))
    return Found(sentences, tables)


FOUND: dict[str, Callable[[Results], Found]] = {
    "S1": _controls,
    "S2": _capacity,
    "S3": _forms,
    "S4": _stability,
    "S5": _forgetting,
    "S6": _normalised,
}
