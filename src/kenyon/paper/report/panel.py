"""The data of the panel: the codes that a threshold makes of some states, and how well readouts do with them.

For each position of the slider, over all neurons and stored stimuli,

    x = relu( V - theta_g )
    coding level = share of x > 0
    overlap      = mean cosine between codes of different classes, without stimuli that activate no neuron

and the accuracy of readouts that were trained at fixed thresholds, interpolated linearly between those.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import xarray as xr
from numpy.typing import NDArray

from kenyon.paper.plan import Results

STEP = 0.05
COLUMNS = 96  # neurons drawn
SILENT = 0.01  # coding level below which a failed run had no active neuron, rather than too many
PALETTES = {  # silent, weakly active, strongly active
    "light": ((247, 245, 240), (158, 202, 196), (8, 66, 82)),
    "dark": ((31, 35, 40), (37, 94, 105), (203, 242, 231)),
}
LEFT, TOP, WIDTH, HEIGHT = 34, 8, 276, 74  # where curves are drawn


class Trained(NamedTuple):
    """Readouts trained at fixed thresholds: accuracies, shape (n_thresholds, n_seeds), NaN where they diverged."""

    thresholds: NDArray[np.float64]
    accuracy: NDArray[np.float64]


class Panel(NamedTuple):
    """What the panel shows, by position of the slider."""

    theta: NDArray[np.float64]
    coding: NDArray[np.float64]
    overlap: NDArray[np.float64]
    silent: NDArray[np.int_]  # number of stimuli without an active neuron
    accuracy: NDArray[np.float64]
    lost: NDArray[np.int_]  # runs that diverged at either of the two thresholds beside
    trained: Trained
    states: NDArray[np.float32]  # (n_stimuli, n_columns)
    first: int  # number of stimuli of the first class, which come first
    n_neurons: int
    start: float  # what prelearning found for these stimuli


def panel(results: Results) -> Panel:
    """Return the data of the panel."""
    data, trained = results.get("1", "static").squeeze(), trained_at(results)
    labels = data.example_label.values
    order = np.argsort(labels, kind="stable")
    V, labels = data.example_state.transpose("example", "neuron").values[order], labels[order]
    theta = np.arange(0, trained.thresholds[-1] + STEP / 2, STEP).round(6)
    codes = [np.maximum(V - threshold, 0) for threshold in theta]
    columns = np.argsort(-V.mean(axis=0))[np.linspace(0, V.shape[1] - 1, min(COLUMNS, V.shape[1])).astype(int)]
    accuracy, lost = interpolated(theta, trained)
    return Panel(
        theta,
        np.array([(x > 0).mean() for x in codes]),
        np.array([overlap(x, labels) for x in codes]),
        np.array([(x == 0).all(axis=1).sum() for x in codes]),
        accuracy,
        lost,
        trained,
        V[:, columns],
        int((labels == labels[0]).sum()),
        V.shape[1],
        float(data.start_theta_mean),
    )


def trained_at(results: Results) -> Trained:
    """Return the readouts of figure S4 at an input gain of 1."""
    data: xr.Dataset = results.get("S4").squeeze("size").sel(input_gain=1.0)
    thresholds = np.array([float(str(name).rpartition("=")[2]) for name in data.learner.values])
    order = np.argsort(thresholds)
    accuracy = data.accuracy.transpose("learner", "seed").where(data.diverged_at < 0).values
    return Trained(thresholds[order], accuracy[order])


def overlap(codes: NDArray[np.float32], labels: NDArray[Any]) -> float:
    """Return the mean cosine between codes of different classes; NaN if no such pair has both codes active."""
    norms = np.linalg.norm(codes, axis=1)
    unit, kept = codes[norms > 0] / norms[norms > 0, None], labels[norms > 0]
    different = kept[:, None] != kept
    return float((unit @ unit.T)[different].mean()) if different.any() else float("nan")


def interpolated(theta: NDArray[np.float64], trained: Trained) -> tuple[NDArray[np.float64], NDArray[np.int_]]:
    """Return interpolated mean accuracies, NaN beside a threshold at which all runs diverged; and the runs lost."""
    finite = np.isfinite(trained.accuracy)
    n, sums = finite.sum(axis=1), np.where(finite, trained.accuracy, 0).sum(axis=1)
    means = np.where(n > 0, sums / np.maximum(n, 1), np.nan)
    right = np.searchsorted(trained.thresholds, theta - 1e-9).clip(0, len(trained.thresholds) - 1)
    left = np.where(np.isclose(trained.thresholds[right], theta), right, np.maximum(right - 1, 0))
    lost = np.maximum((~finite).sum(axis=1)[left], (~finite).sum(axis=1)[right])
    values = np.interp(theta, trained.thresholds, means)
    return np.where(np.isnan(means[left]) | np.isnan(means[right]), np.nan, values), lost


def script_data(panel: Panel) -> dict[str, Any]:
    """Return what the page's script needs, ready for JSON."""
    return {
        "theta": panel.theta.tolist(),
        "coding": _rounded(panel.coding),
        "overlap": _rounded(panel.overlap),
        "silent": panel.silent.tolist(),
        "accuracy": _rounded(panel.accuracy),
        "lost": panel.lost.tolist(),
        "runs": int(panel.trained.accuracy.shape[1]),
        "states": [[round(float(state), 2) for state in row] for row in panel.states],
        "silence": SILENT,
        "first": panel.first,
        "largest": largest(panel),
        "palettes": PALETTES,
        "plot": [LEFT, TOP, WIDTH, HEIGHT],
    }


def _rounded(values: NDArray[np.float64]) -> list[float | None]:
    return [round(float(value), 4) if np.isfinite(value) else None for value in values]


def largest(panel: Panel) -> float:
    """Return the state that is drawn in the strongest colour."""
    return max(round(float(np.quantile(panel.states, 0.99)), 3), 1e-6)


def start_index(panel: Panel) -> int:
    """Return the initial position of the slider: the threshold that prelearning found."""
    return int(np.abs(panel.theta - panel.start).argmin())
