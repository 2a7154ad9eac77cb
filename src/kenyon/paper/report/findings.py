"""What we found, figure by figure: sentences and tables made from the results."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from functools import partial

import numpy as np
import xarray as xr

from kenyon.paper.plan import SEQUENCES, STIMULI, Results, all_forms, best, joined, nearest_size
from kenyon.paper.report.finding import Finding, Sentences, episodes, means_table, ranked, ranking, spreads_table
from kenyon.paper.report.first import first_tables
from kenyon.paper.report.text import Ranking, Table, learner_name, listing, number, share, spread
from kenyon.paper.report.words import about

THREE = ("GradientThresholds", "Metropolis", "Composed")
THRESHOLDS = {
    "theta_mean": "Mean of theta",
    "theta_sd": "Standard deviation of theta over neurons",
    "coding_level": "Share of active neurons",
}


def finding(figure: str, results: Results) -> Finding:
    """Return what a figure shows, in words and numbers."""
    rankings = [ranked(results, figure, **row) for row in about(figure).rankings]
    means = [means_table(results, figure, **row) for row in about(figure).tables]
    sentences = SENTENCES[figure](results) if figure in SENTENCES else []
    return Finding([*rankings, *sentences], [*means, *(TABLES[figure](results) if figure in TABLES else [])])


def _network(results: Results) -> Sentences:
    data, sequences = results.get("1", "static").squeeze(), results.get("1", "sequence").squeeze()
    config = json.loads(data.attrs["config"])
    V = data.example_state.values
    return [
        f"Drawn here: {config['reservoir.n_neurons']} neurons, {int(data['size'])} stimuli and "
        f"{int(sequences['size'])} sequences. Over {data.sizes['example']} episodes the states V range from "
        f"{number(float(V.min()))} to {number(float(V.max()))}, and without thresholds "
        f"{share(float((V > 0).mean()))} of them are active.",
        f"Prelearning starts theta_g at {number(float(data.start_theta_mean))}, which leaves "
        f"{share(float(data.start_coding_level))} of the neurons active; after {episodes(data)} episodes of Composed "
        f"it is {share(float(data.coding_level))}, with {share(float(data.accuracy))} of choices correct.",
    ]


def _accuracies(figure: str, what: str, size: int, results: Results) -> Sentences:
    data = results.get(figure)
    shown, smallest = nearest_size(data, size), int(data["size"].values[0])
    lead = data.accuracy.sel(learner="Composed") - data.accuracy.sel(learner="GradientWeights")
    return [
        ranking(f"Accuracy at {shown} {what}, after {episodes(data)} episodes", data.accuracy.sel(size=shown)),
        f"Composed minus GD_W is {spread(lead.sel(size=smallest))} at {smallest} {what} and "
        f"{spread(lead.sel(size=shown))} at {shown}.",
    ]


def _kinds_of_sequences(results: Results) -> list[Table]:
    """Return accuracy by the position that is perturbed and by context; and what was found first."""
    data = results.get("4")
    data = data.sel(size=nearest_size(data, SEQUENCES))
    names = {"position_accuracy": ("first", "middle", "last"), "context_accuracy": ("own context", "new context")}
    columns = {
        word: data[variable].isel({variable.removesuffix("_accuracy"): i})
        for variable, words in names.items()
        for i, word in enumerate(words)
    }
    caption = f"Accuracy at {int(data['size'])} sequences, by the element that is perturbed and by context"
    return [spreads_table(caption, "learner", columns), *first_tables(results, "4")]


def _before_reward(results: Results) -> list[Table]:
    return [table for part in ("static", "sequence") for table in first_tables(results, "7", part)]


def _thresholds(figure: str, what: str, size: int, results: Results) -> Sentences:
    data, sentences = results.get(figure), []
    shown, smallest = nearest_size(data, size), int(data["size"].values[0])
    for variable, caption in THRESHOLDS.items():
        values = data[variable].sel(size=shown)
        rows = [(learner_name(name), spread(values.sel(learner=name))) for name in THREE]
        sentences.append(Ranking(f"{caption} at {shown} {what}", rows))
    ends = data.theta_mean.mean("seed", skipna=True).sel(size=[smallest, shown])
    changes = [
        f"{' to '.join(number(float(end)) for end in ends.sel(learner=name))} for {learner_name(name)}"
        for name in THREE
    ]
    return [*sentences, f"From {smallest} to {shown} {what} the mean of theta goes from {listing(changes)}."]


def _specificity(results: Results) -> Sentences:
    sentences = []
    for part in ("static", "sequence"):
        data = results.get("6", part)[["specificity", "start_specificity"]].squeeze("size").mean("neuron")
        composed = data.sel(learner="Composed")
        sentences.append(
            f"{part.capitalize()} task, mean specificity over neurons: "
            f"{spread(data.specificity.sel(learner='GradientWeights'), 3)} at theta = 0, "
            f"{spread(composed.start_specificity, 3)} at the prelearned start of Composed, "
            f"{spread(composed.specificity, 3)} after it learned."
        )
    return sentences


def _specificities(results: Results) -> list[Table]:
    columns = {
        "start_specificity": "start",
        "specificity": "end",
        "start_specificity_summed": "start, summed",
        "specificity_summed": "end, summed",
    }
    rows = []
    for part in ("static", "sequence"):
        data = results.get("6", part).squeeze("size")[list(columns)].mean("neuron").mean("seed", skipna=True)
        for name in map(str, data.learner.values):
            values = [number(float(data[variable].sel(learner=name)), 3) for variable in columns]
            rows.append([f"{learner_name(name)}, {part}", *values])
    head = ["learner and task", *columns.values()]
    return [Table("Mean specificity at the start and the end of learning", head, rows)]


def _reward(results: Results) -> Sentences:
    rankings = []
    for part, what in (("static", "stimuli"), ("sequence", "sequences")):
        accuracy = results.get("7", part).accuracy.isel(size=-1)
        rankings.append(ranking(f"Accuracy at {int(accuracy['size'])} {what}", accuracy))
    return rankings


def _controls(results: Results) -> list[Table]:
    parts = {part: results.get("S1", part).squeeze("size") for part in results.plan.parts("S1")}
    return [
        spreads_table(f"Controls, {part}", "readout", {"accuracy": data.accuracy, "active": data.coding_level})
        for part, data in parts.items()
    ]


def _capacity(results: Results) -> Sentences:
    accuracy = joined(results, "S2").accuracy
    ends = [accuracy.isel(size=place) for place in (0, -1)]
    n_neurons = json.loads(results.get("S2").attrs["config"])["reservoir.n_neurons"]
    return [
        *(ranking(f"At {int(end['size'])} resampled odours", end) for end in ends),
        f"Cover's limit for {n_neurons} neurons is {2 * n_neurons}, and {4 * n_neurons} where each is read twice.",
    ]


def _capacities(results: Results) -> list[Table]:
    accuracy = joined(results, "S2").accuracy
    columns = {str(size): accuracy.sel(size=size) for size in accuracy["size"].values}
    return [spreads_table("Accuracy by number of resampled odours", "odours", columns)]


def _forms(results: Results) -> Sentences:
    data = all_forms(results).squeeze("size")
    forms = {str(form): str(form).replace("_", " ") for form in data.input_weights.values}
    orders, by_argmax = (
        {form: _order(data[variable].sel(input_weights=form)) for form in forms}
        for variable in ("accuracy", "argmax_accuracy")
    )
    others = [words for form, words in forms.items() if orders[form] != orders["lognormal"]]
    same = sum(by_argmax[form] == orders[form] for form in forms)
    return [
        f"With lognormal weights the order is {listing(orders['lognormal'])}, best first. The order of the means "
        f"is the same for {len(forms) - len(others)} of {len(forms)} forms"
        + (f"; it differs for {listing(others)}." if others else "."),
        f"Choosing by argmax gives the same order as softmax for {same} of {len(forms)} forms.",
    ]


def _order(accuracy: xr.DataArray) -> list[str]:
    return [name for name, _ in ranking("", accuracy.sel(learner=["GradientWeights", *THREE])).rows]


def _stability(results: Results) -> Sentences:
    sentences, gains = [], results.get("S4").squeeze("size")
    for gain in gains.input_gain.values:
        data = gains.sel(input_gain=gain)
        chosen = best(data.accuracy)
        sentences.append(
            f"Input gain {gain:g}: best at theta = {chosen.rpartition('=')[2]}, "
            f"{spread(data.accuracy.sel(learner=chosen))}; {share(float((data.diverged_at >= 0).mean()))} of the runs "
            "diverged or fell silent."
        )
    return sentences


def _forgetting(results: Results) -> Sentences:
    last = results.get("S5").squeeze("size").group_accuracy.isel(stage=-1)
    return [
        ranking(f"After the last of {last.sizes['group']} groups, over all groups", last.mean("group")),
        ranking("On the first group", last.isel(group=0)),
    ]


def _groups(results: Results) -> list[Table]:
    accuracy = results.get("S5").squeeze("size").group_accuracy
    last = accuracy.isel(stage=-1)
    fresh = xr.concat([accuracy.isel(stage=i, group=i) for i in range(accuracy.sizes["group"])], "group")
    columns = {
        "first group, at the end": last.isel(group=0),
        "all groups, at the end": last.mean("group"),
        "each group, once learned": fresh.mean("group"),
    }
    return [spreads_table("Accuracy on groups learned one after another", "learner", columns)]


def _numbers(results: Results) -> Sentences:
    grid = results.get("S6", "numbers").squeeze("size").accuracy.mean("seed", skipna=True).fillna(0.0)
    worst, *_, top = np.argsort(grid.values)
    low, high = (str(grid.learner.values[i]).removeprefix("grid ").replace(" ", ", ") for i in (worst, top))
    least, most, middle = (number(float(value)) for value in (grid.min(), grid.max(), grid.median()))
    return [
        f"Over {grid.sizes['learner']} settings of its three numbers accuracy lies between {least} ({low}) and {most} "
        f"({high}); the median is {middle}."
    ]


SENTENCES: Mapping[str, Callable[[Results], Sentences]] = {
    "1": _network,
    "2": partial(_accuracies, "2", "stimuli", STIMULI),
    "3": partial(_thresholds, "3", "stimuli", STIMULI),
    "4": partial(_accuracies, "4", "sequences", SEQUENCES),
    "5": partial(_thresholds, "5", "sequences", SEQUENCES),
    "6": _specificity,
    "7": _reward,
    "S2": _capacity,
    "S3": _forms,
    "S4": _stability,
    "S5": _forgetting,
    "S6": _numbers,
}
TABLES: Mapping[str, Callable[[Results], list[Table]]] = {
    "2": partial(first_tables, figure="2"),
    "4": _kinds_of_sequences,
    "6": _specificities,
    "7": _before_reward,
    "S1": _controls,
    "S2": _capacities,
    "S5": _groups,
}
