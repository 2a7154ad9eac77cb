"""Rows until accuracy is back after an abrupt drift, with forgetting and without.

A stream is predicted and learned row by row, and drifts after `BEFORE` rows. Its level before is the accuracy in the
last 1,000 of them; it is back with the first row at which accuracy over the last 50, 100 or 200 rows, all of them after
the drift, is within 3 points of that level. So a number of rows is never smaller than the window. There are two
measures: the mean over seeds of each stream's rows; and the rows of the mean curve of all seeds.

The drifts in `CHOSEN_BY`, with seeds from 101 on, are those that the rule for drifts (`kernels/drift.py`) was chosen
by; those in `REPORTED`, with seeds from 501 on, are in docs/streams.md, which `make bench-streams` writes.
`python benchmarks/drifts.py chosen` shows the others.
"""

import itertools
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from river.datasets import synth
from sklearn.datasets import load_digits

import kenyon as kn

PAGE = Path(__file__).parent.parent / "docs" / "streams.md"
MARKS = "<!-- drifts: begin, written by make bench-streams -->", "<!-- drifts: end -->"
BEFORE, AFTER = 3000, 3000
LEVEL, NEAR = 1000, 0.03  # rows that the level is taken from, and how far below it is near enough
WINDOWS = (50, 100, 200)
FORGETTING = (1.0, 0.99, 0.999)
RANDOM_FEATURES = (300, 0)
N_SEEDS = 4
Rows = tuple[np.ndarray, np.ndarray]
Kind = Callable[[np.random.Generator], Rows]
LATE = np.arange(BEFORE + AFTER) >= BEFORE


def blobs(rng: np.random.Generator, n_features: int, n_classes: int, apart: float) -> Rows:
    y = rng.integers(n_classes, size=len(LATE))
    centres = rng.normal(0, apart, (n_classes, n_features))
    return centres[y] + rng.normal(size=(len(LATE), n_features)), y


def relabelled(rng: np.random.Generator, n_features: int, n_classes: int, apart: float) -> Rows:
    X, y = blobs(rng, n_features, n_classes, apart)
    return X, np.where(LATE, (y + 1) % n_classes, y)


def rotated(rng: np.random.Generator) -> Rows:
    X, y = blobs(rng, 8, 4, 1.6)
    X[LATE] = X[LATE] @ np.linalg.qr(rng.normal(size=(8, 8)))[0]
    return X, y


def shifted(rng: np.random.Generator) -> Rows:
    X, y = blobs(rng, 8, 4, 1.6)
    X[LATE] += rng.normal(0, 3, 8)
    return X, y


def exchanged(rng: np.random.Generator) -> Rows:
    X, y = blobs(rng, 12, 5, 1.2)
    X[LATE] = np.roll(X[LATE], 1, axis=1)
    return X, y


def threshold(rng: np.random.Generator) -> Rows:
    X = rng.uniform(0, 10, (len(LATE), 3))
    y = X[:, 0] + X[:, 1] <= np.where(LATE, 12.0, 7.0)
    return X, (y ^ (rng.random(len(y)) < 0.05)).astype(int)


def hyperplane(rng: np.random.Generator, n_features: int) -> Rows:
    X, w = rng.uniform(-0.5, 0.5, (len(LATE), n_features)), rng.normal(size=(2, n_features))
    return X, (np.where(LATE, X @ w[1], X @ w[0]) > 0).astype(int)


def ages(rng: np.random.Generator) -> Rows:
    age, salary = rng.uniform(20, 80, len(LATE)), rng.uniform(20, 150, len(LATE))
    others = rng.integers(0, 5, len(LATE)), rng.uniform(0, 500, len(LATE))
    low = np.select([age < 40, age < 60], [50.0, 75.0], 25.0)
    y = np.where(LATE, (salary > low) & (salary < low + 50), (age < 40) | (age >= 60))
    return np.column_stack([age, salary, *others]), y.astype(int)


def digits(rng: np.random.Generator) -> Rows:
    X, y = load_digits(return_X_y=True)
    drawn, order = rng.integers(len(X), size=len(LATE)), rng.permutation(10)
    return X[drawn], np.where(LATE, order[y[drawn]], y[drawn])


def generated(make: Callable[[int, bool], Any]) -> Kind:
    """Return a kind of drift, from one of River's generators to another; `make` is told a seed and which it is."""

    def kind(rng: np.random.Generator) -> Rows:
        halves = (make(int(rng.integers(2**31)), late).take(n) for late, n in ((False, BEFORE), (True, AFTER)))
        rows = list(itertools.chain(*halves))
        return np.array([list(x.values()) for x, _ in rows], float), np.array([int(y) for _, y in rows])

    return kind


def segments(rng: np.random.Generator) -> Rows:
    X, y = generated(lambda seed, late: synth.LED(seed, 0.05))(rng)
    X[LATE] = X[LATE, ::-1]
    return X, y


CHOSEN_BY: dict[str, Kind] = {
    "four labels change places": lambda rng: relabelled(rng, 8, 4, 1.6),
    "the same, classes overlap": lambda rng: relabelled(rng, 8, 4, 0.7),
    "two labels change places": lambda rng: relabelled(rng, 8, 2, 1.0),
    "ten labels change places": lambda rng: relabelled(rng, 12, 10, 1.0),
    "eight features are rotated": rotated,
    "features are shifted": shifted,
    "a threshold on a sum, 5% of labels wrong": threshold,
    "another hyperplane, eight features": lambda rng: hyperplane(rng, 8),
    "rules of age and salary": ages,
}
REPORTED: dict[str, Kind] = {
    "digits, labels change places": digits,
    "five classes, features change places": exchanged,
    "another hyperplane, 20 features": lambda rng: hyperplane(rng, 20),
    "SEA, variants 0 and 3, 5% noise": generated(lambda seed, late: synth.SEA(3 if late else 0, 0.05, seed)),
    "Sine, functions 0 and 1": generated(lambda seed, late: synth.Sine(int(late), seed)),
    "Mixed, functions 0 and 1": generated(lambda seed, late: synth.Mixed(int(late), seed)),
    "STAGGER, functions 0 and 1": generated(lambda seed, late: synth.STAGGER(int(late), seed)),
    "LED, segments change places": segments,
    "RBF, other centres": generated(lambda seed, late: synth.RandomRBF(5 + late, seed, 4, 10, 20)),
    "Agrawal, functions 0 and 2": generated(lambda seed, late: synth.Agrawal(2 * late, seed)),
}


def main() -> None:
    kinds, first, show = (CHOSEN_BY, 101, True) if sys.argv[1:] == ["chosen"] else (REPORTED, 501, False)
    tables = [table(kinds, first, n_random) for n_random in RANDOM_FEATURES]
    shown = "\n\n".join(tables)
    print(shown)
    if not show:
        before, rest = PAGE.read_text(encoding="utf-8").split(MARKS[0])
        after = rest.split(MARKS[1])[1]
        PAGE.write_text(f"{before}{MARKS[0]}\n\n{shown}\n\n{MARKS[1]}{after}", encoding="utf-8")


def table(kinds: dict[str, Kind], first: int, n_random: int) -> str:
    """Return a table of levels and of rows until they are back, and a sentence on their ratios."""
    heads = [f"{g:g}" if g < 1 else "without" for g in FORGETTING]
    lines = [
        f"| {n_random or 'no'} random features | level before: {', '.join(heads)} | "
        + " | ".join(f"rows {head}, windows of {', '.join(map(str, WINDOWS))}" for head in heads)
        + " |",
        "|---|---:|" + "---:|" * len(heads),
    ]
    found = []
    for name, kind in kinds.items():
        streams = [[right(kind, first + n, g, n_random) for n in range(N_SEEDS)] for g in FORGETTING]
        level = ", ".join(f"{np.mean([level_of(one) for one in runs]):.3f}".replace("0.", ".") for runs in streams)
        seeds = [[float(np.mean([back(one, window) for one in runs])) for window in WINDOWS] for runs in streams]
        curve = [[float(back(np.mean(runs, axis=0), window)) for window in WINDOWS] for runs in streams]
        found.append([seeds, curve])
        lines.append(f"| {name} | {level} | " + " | ".join(", ".join(f"{t:.0f}" for t in row) for row in seeds) + " |")
        print(lines[-1], "mean curve:", curve, flush=True)
    return "\n".join([*lines, "", *summary(np.array(found))])


def summary(found: np.ndarray) -> list[str]:
    """Return how often half the rows are enough, from rows of shape (kinds, measures, forgetting, windows).

    With the window counted in, that can only be where more than two windows are needed without forgetting.
    """
    lines = ["| at most half the rows in | " + " | ".join(f"window of {window}" for window in WINDOWS) + " |"]
    lines.append("|---|" + "---:|" * len(WINDOWS))
    for m, measure in enumerate(("mean of seeds", "mean curve")):
        for g, forgetting in enumerate(FORGETTING[1:], start=1):
            for counted in (True, False):
                own = np.zeros(len(WINDOWS)) if counted else np.array(WINDOWS)
                off, on = found[:, m, 0] - own, found[:, m, g] - own
                slow = found[:, m, 0] > (2 if counted else 1) * np.array(WINDOWS)
                cells = (
                    f"{(slow & (2 * on <= off))[:, w].sum()} of {slow[:, w].sum()}"
                    + (f", median {np.median(on[slow[:, w], w] / off[slow[:, w], w]):.2f}" if slow[:, w].any() else "")
                    for w in range(len(WINDOWS))
                )
                head = f"{forgetting:g}, {measure}, window {'counted in' if counted else 'not counted'}"
                lines.append(f"| {head} | " + " | ".join(cells) + " |")
    return lines


def right(kind: Kind, seed: int, forgetting: float, n_random: int) -> np.ndarray:
    """Return which rows of a stream are predicted right before they are learned."""
    X, y = kind(np.random.default_rng(seed))
    model = kn.ThresholdReadout(forgetting=forgetting, random_features=n_random, random_state=seed)
    model.learn_one(X[0], int(y[0]))
    found = np.zeros(len(y))
    for n, (x, label) in enumerate(zip(X[1:], y[1:].tolist(), strict=True), start=1):
        found[n] = model.predict_one(x) == label
        model.learn_one(x, label)
    return found


def level_of(found: np.ndarray) -> float:
    return float(found[BEFORE - LEVEL : BEFORE].mean())


def back(found: np.ndarray, window: int) -> int:
    """Return after how many rows a stream is back; all of them if it never is."""
    recent = np.convolve(found[BEFORE:], np.full(window, 1 / window), "valid")
    near = np.flatnonzero(recent >= level_of(found) - NEAR - 1e-9)
    return int(near[0]) + window if len(near) else AFTER


if __name__ == "__main__":
    main()
