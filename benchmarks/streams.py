"""Progressive validation on streams: each row is predicted, then learned; from the first one on, default settings.

Data are those that River ships, and streams made by its generators with abrupt and gradual drifts. Beside ours are
River's linear models, a Hoeffding adaptive tree, an adaptive random forest, a Mondrian forest, and two that learn next
to nothing: the class of the row before, and the most frequent class so far. Linear models get standardised features,
and one model for each class where they need it. Printed are accuracy, microseconds of a processor's time for predicting
and learning a row, memory in the end, and on how many sets ours is above each linear model. Of Yeast, whose rows have
14 labels, the most balanced one is learned. `make bench-streams` writes the tables in docs/streams.md. What it has
measured is kept in results/streams.json until then, so that a run that was stopped goes on where it was.
"""

import itertools
import json
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
from river import datasets, forest, linear_model, multiclass, tree
from river.datasets import synth
from river.preprocessing import StandardScaler

from kenyon.river import ThresholdClassifier

PAGE = Path(__file__).parent.parent / "docs" / "streams.md"
KEPT = Path("results") / "streams.json"
MARKS = "<!-- streams: begin, written by make bench-streams -->", "<!-- streams: end -->"
MOST = 20_000  # rows of a set
DRIFT = 5000  # rows before a drift
SETS: dict[str, Callable[[], Any]] = {  # those that River ships, then those that it generates
    "ImageSegments": datasets.ImageSegments,
    "Phishing": datasets.Phishing,
    "Bananas": datasets.Bananas,
    "Shuttle": datasets.Shuttle,
    "Yeast, class 2": lambda: ((x, y["Class2"]) for x, y in datasets.Yeast()),
    "SEA, abrupt": lambda: synth.ConceptDriftStream(synth.SEA(0, seed=0), synth.SEA(3, seed=0), 0, DRIFT, 1),
    "Sine, abrupt": lambda: synth.ConceptDriftStream(synth.Sine(0, seed=0), synth.Sine(1, seed=0), 0, DRIFT, 1),
    "Agrawal, gradual": lambda: synth.ConceptDriftStream(
        synth.Agrawal(0, seed=0), synth.Agrawal(2, seed=0), 0, DRIFT, 1000
    ),
    "Hyperplane, slow": lambda: synth.Hyperplane(0, n_features=10, n_drift_features=5, mag_change=0.001),
    "RBF, moving": lambda: synth.RandomRBFDrift(
        0, 0, n_classes=4, n_features=10, n_centroids=20, change_speed=0.001, n_drift_centroids=20
    ),
}
N_SHIPPED = 5
LINEAR = {
    "logistic regression": linear_model.LogisticRegression,
    "ALMA": linear_model.ALMAClassifier,
    "passive-aggressive": linear_model.PAClassifier,
}
MODELS: dict[str, Callable[[], Any]] = {
    "ThresholdClassifier": ThresholdClassifier,
    "... forgetting=0.99": lambda: ThresholdClassifier(forgetting=0.99),
    "... without random features": lambda: ThresholdClassifier(random_features=0),
    **{
        name: lambda kind=kind: StandardScaler() | multiclass.OneVsRestClassifier(kind())
        for name, kind in LINEAR.items()
    },
    "Hoeffding adaptive tree": lambda: tree.HoeffdingAdaptiveTreeClassifier(seed=0),
    "adaptive random forest": lambda: forest.ARFClassifier(seed=0),
    "Mondrian forest (AMF)": lambda: forest.AMFClassifier(seed=0),
    "last class": lambda: Last(),
    "most frequent class": lambda: MostFrequent(),
}


class Last:
    """Says what was right the last time."""

    def __init__(self) -> None:
        self.label: Any = None

    def predict_one(self, x: dict) -> Any:
        return self.label

    def learn_one(self, x: dict, y: Any) -> None:
        self.label = y


class MostFrequent:
    """Says what has been right most often."""

    def __init__(self) -> None:
        self.counts: Counter = Counter()

    def predict_one(self, x: dict) -> Any:
        return max(self.counts, key=self.counts.get, default=None)

    def learn_one(self, x: dict, y: Any) -> None:
        self.counts[y] += 1


def main() -> None:
    chosen = sys.argv[1:] or list(SETS)
    validate(ThresholdClassifier(), list(itertools.islice(rows(chosen[0]), 20)))  # compiles
    lengths, measured = {}, {name: [] for name in MODELS}
    for key in chosen:
        data = list(rows(key))
        lengths[key] = len(data)
        for name in MODELS:
            measured[name].append(measure(name, key, data))
    tables = page(lengths, measured)
    print(tables)
    if not sys.argv[1:]:
        before, rest = PAGE.read_text(encoding="utf-8").split(MARKS[0])
        after = rest.split(MARKS[1])[1]
        PAGE.write_text(f"{before}{MARKS[0]}\n\n{tables}\n\n{MARKS[1]}{after}", encoding="utf-8")
        KEPT.unlink()


def measure(name: str, key: str, data: list[tuple[dict, Any]]) -> list[float]:
    """Return what `validate` does for a model on a set; it is measured once in a run."""
    kept = json.loads(KEPT.read_text(encoding="utf-8")) if KEPT.exists() else {}
    place = f"{name}, {key}"
    if place not in kept:
        kept[place] = validate(MODELS[name](), data)
        KEPT.parent.mkdir(exist_ok=True)
        KEPT.write_text(json.dumps(kept, indent=1), encoding="utf-8")
        accuracy, took, _ = kept[place]
        print(f"{place}: {accuracy:.3f}, {took:.0f} us", flush=True)
    return kept[place]


def rows(name: str) -> Iterator[tuple[dict, Any]]:
    """Yield rows with numbers only: words become indicators."""
    for x, y in itertools.islice(SETS[name](), MOST if name in list(SETS)[:N_SHIPPED] else 2 * DRIFT):
        yield {k if not isinstance(v, str) else f"{k}={v}": 1.0 if isinstance(v, str) else v for k, v in x.items()}, y


def validate(model: Any, data: list[tuple[dict, Any]]) -> tuple[float, float, float]:
    """Return accuracy, microseconds per row and megabytes."""
    model.learn_one(*data[0])
    right, started = 0, time.process_time()
    for x, y in data[1:]:
        right += model.predict_one(x) == y
        model.learn_one(x, y)
    took = time.process_time() - started
    return right / (len(data) - 1), took / (len(data) - 1) * 1e6, getattr(model, "_raw_memory_usage", 0) / 1e6


def page(lengths: dict[str, int], measured: dict[str, list]) -> str:
    """Return both tables; the best of a set is bold."""
    chosen = list(lengths)
    best = [max(one[i][0] for one in measured.values()) for i in range(len(chosen))]
    head = "| | " + " | ".join(f"{name} ({n:,})" for name, n in lengths.items()) + " |"
    lines = [head, "|---|" + "---:|" * len(chosen)]
    for name, found in measured.items():
        shown = [f"**{a[0]:.3f}**" if a[0] == top else f"{a[0]:.3f}" for a, top in zip(found, best, strict=True)]
        lines.append(f"| {name} | " + " | ".join(value.replace("0.", ".") for value in shown) + " |")
    lines += ["", "| | microseconds per row | memory, MB |", "|---|---:|---:|"]
    for name, found in measured.items():
        times, sizes = [one[1] for one in found], [one[2] for one in found]
        lines.append(f"| {name} | {min(times):.0f} to {max(times):.0f} | {max(sizes):.2f} |")
    return "\n".join([*lines, "", above_linear(chosen, measured)])


def above_linear(chosen: list[str], measured: dict[str, list]) -> str:
    """Return a sentence that says on how many sets ours, as it is, is above linear models."""
    ours, *linear = (np.array([one[0] for one in measured[name]]) for name in ("ThresholdClassifier", *LINEAR))
    shipped = np.isin(chosen, list(SETS)[:N_SHIPPED])
    counts = [
        f"{name} on {(ours > other)[shipped].sum()} of {shipped.sum()} and {(ours > other)[~shipped].sum()} of "
        f"{(~shipped).sum()}"
        for name, other in zip((*LINEAR, "the best of the three"), (*linear, np.max(linear, axis=0)), strict=True)
    ]
    return "Of the sets that River ships, and of those that it generates, `ThresholdClassifier` is above\n" + (
        "; ".join(counts) + "."
    )


if __name__ == "__main__":
    main()
