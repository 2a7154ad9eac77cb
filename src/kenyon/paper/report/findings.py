"""What we found, figure by figure: sentences and tables made from the results, none of them written beforehand."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping

import numpy as np
import xarray as xr

from kenyon.paper.plan import SEQUENCES, STIMULI, Results, nearest_size
from kenyon.paper.report.finding import (
    THREE,
    Finding,
    Means,
    Ranked,
    Sentences,
    Sources,
    best,
    descending,
    episodes,
    means,
    ranking,
)
from kenyon.paper.report.text import Ranking, Table, learner_name, listing, number, share, spread

THRESHOLDS = {
    "theta_mean": "Mean of theta",
    "theta_sd": "Standard deviation of theta over neurons",
    "coding_level": "Share of active neurons",
}


def finding(figure: str, results: Results) -> Finding:
    """Return what a figure shows, in words and numbers."""
    return FINDINGS[figure](results)


def _network(results: Results) -> Sentences:
    data, sequences = results.get("1", "static").squeeze(), results.get("1", "sequence").squeeze()
    config = json.loads(data.attrs["config"])
    V = data.example_state.values
    return [
        f"Drawn here: {config['reservoir.n_neurons']} neurons, {int(data['size'])} stimuli and "
        f"{int(sequences['size'])} sequences. Over {data.sizes['example']} episodes the states V reach from "
        f"{number(float(V.min()))} to {number(float(V.max()))}, and without thresholds "
        f"{share(float((V > 0).mean()))} of them are active.",
        f"Prelearning starts theta_g at {number(float(data.start_theta_mean))}, which leaves "
        f"{share(float(data.start_coding_level))} of the neurons active; after {episodes(data)} episodes of Composed "
        f"it is {share(float(data.coding_level))}, with {share(float(data.accuracy))} of choices right.",
    ]


def _accuracies(figure: str, what: str, size: int) -> Sources:
    def sentences(results: Results) -> Sentences:
        data = results.get(figure)
        shown, smallest = nearest_size(data, size), int(data["size"].values[0])
        lead = data.accuracy.sel(learner="Composed") - data.accuracy.sel(learner="GradientWeights")
        return [
            ranking(f"Accuracy at {shown} {what}, after {episodes(data)} episodes", data.accuracy.sel(size=shown)),
            f"Composed minus GD_W is {spread(lead.sel(size=smallest))} at {smallest} {what} and "
            f"{spread(lead.sel(size=shown))} at {shown}. Normalised is ours, the others are the paper's.",
        ]

    captions = {"accuracy": "Accuracy", "coding_level": "Share of active neurons"}
    return Sources([sentences], _by_size(captions, figure, what))


def _thresholds(figure: str, what: str, size: int) -> Sources:
    def sentences(results: Results) -> Sentences:
        data = results.get(figure)
        shown, smallest = nearest_size(data, size), int(data["size"].values[0])
        ends = data.theta_mean.mean("seed", skipna=True).sel(size=[smallest, shown])
        changes = [
            f"{' to '.join(number(float(end)) for end in ends.sel(learner=name))} for {learner_name(name)}"
            for name in THREE
        ]
        return [
            *(
                Ranking(
                    f"{caption} at {shown} {what}",
                    [(learner_name(name), spread(data[variable].sel(learner=name, size=shown))) for name in THREE],
                )
                for variable, caption in THRESHOLDS.items()
            ),
            f"From {smallest} to {shown} {what} the mean of theta goes from {listing(changes)}.",
        ]

    return Sources([sentences], _by_size(THRESHOLDS, figure, what, (*THREE, "Normalised")))


def _by_size(captions: Mapping[str, str], figure: str, what: str, learners: tuple[str, ...] = ()) -> list[Means]:
    return [
        Means(f"{caption} by number of {what}", figure, variable=variable, head=what, learners=learners)
        for variable, caption in captions.items()
    ]


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


def _specificities(results: Results) -> Table:
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
    return Table("Mean specificity at the start and the end of learning", head, rows)


def _reward(part: str, what: str) -> Callable[[Results], Sentences]:
    def sentences(results: Results) -> Sentences:
        accuracy = results.get("7", part).accuracy.isel(size=-1)
        names = [str(name) for name in accuracy.learner.values]
        plain = [name for name in names if name.startswith("GradientWeights")]
        kept = best(accuracy.sel(learner=plain))
        batch = learner_name(kept).rpartition(" ")[2]
        words = f"Accuracy at {int(accuracy['size'])} {what}; of GD_W's batches {batch} is the best there"
        return [ranking(words, accuracy.sel(learner=[*(name for name in names if name not in plain), kept]))]

    return sentences


def _controls(part: str) -> Callable[[Results], Table]:
    def table(results: Results) -> Table:
        data = results.get("S1", part).squeeze("size")
        rows = [
            [
                learner_name(name),
                *(spread(data[variable].sel(learner=name), 3) for variable in ("accuracy", "coding_level")),
            ]
            for name in map(str, data.learner.values)
        ]
        return Table(f"Controls, {part}", ["readout", "accuracy", "active"], rows)

    return table


def _limit(results: Results) -> Sentences:
    n_neurons = json.loads(results.get("S2").attrs["config"])["reservoir.n_neurons"]
    return [f"Cover's limit for {n_neurons} neurons is {2 * n_neurons}."]


def _forms(results: Results) -> Sentences:
    data = results.get("S3").squeeze("size")
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
        f"By argmax the order of the means is that by softmax for {same} of {len(forms)} forms.",
    ]


def _order(accuracy: xr.DataArray) -> list[str]:
    return [learner_name(name) for name in descending(accuracy.sel(learner=["GradientWeights", *THREE]))]


def _stability(results: Results) -> Sentences:
    sentences = []
    for gain, data in results.get("S4").squeeze("size").groupby("input_gain"):
        chosen = best(data.accuracy.squeeze("input_gain"))
        sentences.append(
            f"Input gain {gain:g}: best at theta = {chosen.rpartition('=')[2]}, "
            f"{spread(data.accuracy.sel(learner=chosen))}; {share(float((data.diverged_at >= 0).mean()))} of the runs "
            "diverged or fell silent."
        )
    return sentences


def _forgetting(results: Results) -> Finding:
    accuracy = results.get("S5").squeeze("size").group_accuracy
    last, n = accuracy.isel(stage=-1), accuracy.sizes["group"]
    fresh = xr.concat([accuracy.isel(stage=i, group=i) for i in range(n)], "group")
    columns = {
        "first group, at the end": last.isel(group=0),
        "all groups, at the end": last.mean("group"),
        "each group, once learned": fresh.mean("group"),
    }
    rows = [
        [learner_name(name), *(spread(column.sel(learner=name), 3) for column in columns.values())]
        for name in map(str, accuracy.learner.values)
    ]
    sentences = [
        ranking(f"When the last of {n} groups was learned, over all groups", last.mean("group")),
        ranking("On the first group", last.isel(group=0)),
    ]
    return Finding(sentences, [Table("Accuracy on groups learned one after another", ["learner", *columns], rows)])


def _numbers(results: Results) -> Sentences:
    grid = means(results.get("S6", "numbers").squeeze("size").accuracy)
    worst, *_, top = np.argsort(grid.values)
    low, high = (str(grid.learner.values[i]).removeprefix("grid ").replace(" ", ", ") for i in (worst, top))
    least, most, middle = (number(float(value)) for value in (grid.min(), grid.max(), grid.median()))
    return [
        f"Over {grid.sizes['learner']} settings of its three numbers accuracy lies between {least} ({low}) and {most} "
        f"({high}); the median is {middle}."
    ]


FINDINGS: Mapping[str, Callable[[Results], Finding]] = {
    "1": Sources([_network]),
    "2": _accuracies("2", "stimuli", STIMULI),
    "3": _thresholds("3", "stimuli", STIMULI),
    "4": _accuracies("4", "sequences", SEQUENCES),
    "5": _thresholds("5", "sequences", SEQUENCES),
    "6": Sources([_specificity], [_specificities]),
    "7": Sources(
        [_reward("static", "stimuli"), _reward("sequence", "sequences")],
        [
            Means("Accuracy by number of stimuli, learned by reward", "7", "static", head="stimuli"),
            Means("Accuracy by number of sequences, learned by reward", "7", "sequence", head="sequences"),
        ],
    ),
    "S1": Sources(
        [
            Ranked("Without thresholds", "S1", "connected", kinds=("Ridge", "GradientWeights")),
            Ranked("Thresholds by gradient", "S1", "connected", kinds=("GradientThresholds",)),
            Ranked("Thresholds by search, and both", "S1", "connected", kinds=("Metropolis", "Composed")),
            Ranked("Without connections", "S1", "unconnected"),
            Ranked("After {episodes} episodes", "S1", "short"),
        ],
        [_controls(part) for part in ("connected", "unconnected", "short")],
    ),
    "S2": Sources(
        [
            Ranked("At {size} resampled odours", "S2", at=("size", 0)),
            Ranked("At {size} resampled odours", "S2", at=("size", -1)),
            _limit,
        ],
        [Means("Accuracy by number of resampled odours", "S2", head="odours")],
    ),
    "S3": Sources(
        [_forms],
        [
            Means("Accuracy by softmax", "S3", along="input_weights"),
            Means("Accuracy by argmax", "S3", variable="argmax_accuracy", along="input_weights"),
        ],
    ),
    "S4": Sources(
        [_stability], [Means("Accuracy by threshold and input gain", "S4", along="input_gain", head="threshold")]
    ),
    "S5": _forgetting,
    "S6": Sources(
        [
            Ranked("{size} odours, one part removed at a time", "S6", "parts static"),
            Ranked("{size} sequences, one part removed at a time", "S6", "parts sequence"),
            _numbers,
            Ranked("Classes, {n_classes:g}", "S6", "classes", at=("n_classes", -1)),
            Ranked("Neurons, {n_neurons:g}", "S6", "neurons", at=("n_neurons", 0)),
            Ranked("Noise, {noise:g}", "S6", "noise", at=("noise", -1)),
            Ranked("{size} odours, after {episodes} episodes", "S6", "long"),
        ],
        [
            Means("Accuracy by classes", "S6", "classes", along="n_classes", head="classes"),
            Means("Accuracy by neurons", "S6", "neurons", along="n_neurons", head="neurons"),
            Means("Accuracy by noise", "S6", "noise", along="noise", head="noise"),
        ],
    ),
}
