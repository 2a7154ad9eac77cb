"""What we found, figure by figure: sentences and tables made from the results, none of them written beforehand."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import numpy as np
import xarray as xr

from kenyon.paper.plan import SEQUENCES, STIMULI, Results, nearest_size
from kenyon.paper.report import findings_supplement
from kenyon.paper.report.finding import THREE, Found, by, episodes, mean, ranking
from kenyon.paper.report.markup import Ranking, Table, learner_name, listing, number, share, spread


def found(figure: str, results: Results) -> Found:
    """Return what a figure shows, in words and numbers."""
    return _FOUND[figure](results)


def _network(results: Results) -> Found:
    data, sequences = results.get("1", "static").squeeze(), results.get("1", "sequence").squeeze()
    config = json.loads(data.attrs["config"])
    V = data.example_state.values
    sentences = [
        f"Drawn here: {config['reservoir.n_neurons']} neurons, {int(data['size'])} stimuli and "
        f"{int(sequences['size'])} sequences. Over {data.sizes['example']} episodes the states V reach from "
        f"{number(float(V.min()))} to {number(float(V.max()))}, and without thresholds "
        f"{share(float((V > 0).mean()))} of them are active.",
        f"Prelearning starts theta_g at {number(float(data.start_theta_mean))}, which leaves "
        f"{share(float(data.start_coding_level))} of the neurons active; after {episodes(data)} episodes of Composed "
        f"it is {share(float(data.coding_level))}, with {share(float(data.accuracy))} of choices right.",
    ]
    return Found(sentences, [])


def _accuracies(figure: str, what: str, size: int) -> Callable[[Results], Found]:
    def find(results: Results) -> Found:
        data = results.get(figure)
        shown, smallest = nearest_size(data, size), int(data["size"].values[0])
        lead = data.accuracy.sel(learner="Composed") - data.accuracy.sel(learner="GradientWeights")
        sentences: list[str | Ranking] = [
            ranking(f"Accuracy at {shown} {what}, after {episodes(data)} episodes", data.accuracy.sel(size=shown)),
            f"Composed minus GD_W is {spread(lead.sel(size=smallest))} at {smallest} {what} and "
            f"{spread(lead.sel(size=shown))} at {shown}. Normalised is ours, the others are the paper's.",
        ]
        tables = [
            by(data.accuracy, "size", f"Accuracy by number of {what}", what),
            by(data.coding_level, "size", f"Share of active neurons by number of {what}", what),
        ]
        return Found(sentences, tables)

    return find


def _thresholds(figure: str, what: str, size: int) -> Callable[[Results], Found]:
    captions = {
        "theta_mean": "Mean of theta",
        "theta_sd": "Standard deviation of theta over neurons",
        "coding_level": "Share of active neurons",
    }

    def find(results: Results) -> Found:
        data = results.get(figure)
        shown, smallest = nearest_size(data, size), int(data["size"].values[0])
        sentences: list[str | Ranking] = [
            Ranking(
                f"{caption} at {shown} {what}",
                [(learner_name(one), spread(data[name].sel(learner=one, size=shown))) for one in THREE],
            )
            for name, caption in captions.items()
        ]
        changes = [
            f"{number(mean(data.theta_mean, one, smallest))} to {number(mean(data.theta_mean, one, shown))} for "
            f"{learner_name(one)}"
            for one in THREE
        ]
        sentences.append(f"From {smallest} to {shown} {what} the mean of theta goes from {listing(changes)}.")
        tables = [
            by(data[name], "size", f"{caption} by number of {what}", what, (*THREE, "Normalised"))
            for name, caption in captions.items()
        ]
        return Found(sentences, tables)

    return find


def _specificity(results: Results) -> Found:
    sentences, rows = [], []
    for part in ("static", "sequence"):
        data = results.get("6", part).squeeze("size")
        zero, start, end = (
            _neurons(data[name].sel(learner=one))
            for name, one in (
                ("specificity", "GradientWeights"),
                ("start_specificity", "Composed"),
                ("specificity", "Composed"),
            )
        )
        sentences.append(
            f"{part.capitalize()} task, mean specificity over neurons: {spread(zero, 3)} at theta = 0, "
            f"{spread(start, 3)} at the prelearned start of Composed, {spread(end, 3)} after it learned."
        )
        for one in data.learner.values:
            names = ("start_specificity", "specificity", "start_specificity_summed", "specificity_summed")
            values = [number(float(np.nanmean(_neurons(data[name].sel(learner=one)))), 3) for name in names]
            rows.append([f"{learner_name(str(one))}, {part}", *values])
    head = ["learner and task", "start", "end", "start, summed", "end, summed"]
    return Found(sentences, [Table("Mean specificity at the start and the end of learning", head, rows)])


def _neurons(data: xr.DataArray) -> Any:
    return data.mean("neuron").values


def _reward(results: Results) -> Found:
    sentences, tables = [], []
    for part, what in (("static", "stimuli"), ("sequence", "sequences")):
        data = results.get("7", part)
        largest = int(data["size"].values[-1])
        plain = [str(name) for name in data.learner.values if str(name).startswith("GradientWeights")]
        best = max(plain, key=lambda name: mean(data.accuracy, name, largest))
        kept = [str(name) for name in data.learner.values if name not in plain] + [best]
        batch = learner_name(best).rpartition(" ")[2]
        words = f"Accuracy at {largest} {what}; of GD_W's batches {batch} is the best there"
        sentences.append(ranking(words, data.accuracy.sel(size=largest, learner=kept)))
        tables.append(by(data.accuracy, "size", f"Accuracy by number of {what}, learned by reward", what))
    return Found(sentences, tables)


_FOUND: dict[str, Callable[[Results], Found]] = {
    "1": _network,
    "2": _accuracies("2", "stimuli", STIMULI),
    "3": _thresholds("3", "stimuli", STIMULI),
    "4": _accuracies("4", "sequences", SEQUENCES),
    "5": _thresholds("5", "sequences", SEQUENCES),
    "6": _specificity,
    "7": _reward,
    **findings_supplement.FOUND,
}
