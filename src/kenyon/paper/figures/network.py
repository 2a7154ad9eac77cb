"""Figure 1: the network, a stimulus passing through it, and how the sequence task is built."""

from __future__ import annotations

from typing import Any

import numpy as np
import xarray as xr
from numpy.typing import NDArray

from kenyon._looks import FAINT, MAP, look
from kenyon.paper.figures import _parts as parts
from kenyon.paper.figures.schematic import draw_network, draw_sequences
from kenyon.paper.plan import Results
from kenyon.paper.style import odour

STEP = 0.01  # seconds


def figure1(results: Results) -> Any:
    """Draw the network, one real episode of the static task, and one real base of the sequence task."""
    figure = parts.new_figure(19.5)
    top, middle, bottom = figure.subfigures(3, 1, height_ratios=[4.9, 5.4, 9.2])
    network = top.subplots()
    draw_network(network)
    parts.title(network, "a", "The network: only thresholds and readout learn")
    _episode(middle, results.get("1", "static"))
    sequences = bottom.subplots()
    trial = results.plan.parts("1")["sequence"][0]
    draw_sequences(sequences, trial.task.build(trial.seed))
    parts.title(sequences, "e", "How sequences are built: a base is perturbed at each of its three positions")
    return figure


def _episode(figure: Any, data: xr.Dataset) -> None:
    """Draw an episode: input, states, and the code that thresholds make of them at the decision."""
    episode = data.isel(size=0, seed=0).sel(learner="Composed")
    V = np.asarray(episode.trace_state.transpose("step", "neuron").values)
    theta = np.asarray(episode.theta.values)
    order = np.argsort(V[-1])
    inputs, states, code = figure.subplots(1, 3, width_ratios=[1, 1, 1.1])
    name = odour(str(episode.example_name.values[0]))
    _map(figure, inputs, episode.trace_input.transpose("step", "channel").values, "input channel", "input s")
    _map(figure, states, V[:, order], "neurons, by last state", "state V")
    parts.title(inputs, "b", f"Input: {name}")
    parts.title(states, "c", "Hidden states")
    _code(code, V[-1][order], theta[order])
    parts.title(code, "d", "At the decision")


def _map(figure: Any, ax: Any, values: NDArray[np.float32], label: str, symbol: str) -> None:
    """Draw values over time, a row for each channel or neuron."""
    n_steps, n = values.shape
    extent = (0, n_steps * STEP, 0.5, n + 0.5)
    drawing: dict[str, Any] = {"aspect": "auto", "interpolation": "nearest", "origin": "lower", "rasterized": True}
    image = ax.imshow(values.T, extent=extent, cmap=MAP, vmin=0, vmax=np.quantile(values, 0.995), **drawing)
    bar = figure.colorbar(image, ax=ax, aspect=25, pad=0.02, extend="max", extendfrac=0.03)
    bar.set_label(symbol, labelpad=2)
    bar.outline.set_linewidth(0.5)
    ax.set(xlabel="time (s)", ylabel=label, xticks=[0, n_steps * STEP / 2, n_steps * STEP], yticks=[1, n // 2, n])


def _code(ax: Any, V: NDArray[np.float32], theta: NDArray[np.float32]) -> None:
    """Draw the last states, and what exceeds the thresholds that Composed learned."""
    x, colour = np.maximum(V - theta, 0), look("Composed").colour
    rows = np.arange(1, len(V) + 1)
    ax.plot(V, rows, color=FAINT, linewidth=1.2, label="V")
    ax.scatter(theta, rows, s=0.7, color="#E69F00", linewidths=0, label=r"$\theta$", rasterized=True)
    ax.barh(rows, x, height=1, color=colour, linewidth=0, rasterized=True)
    ax.plot([], [], color=colour, linewidth=4, label=f"x, {np.mean(x > 0):.0%} active")
    ax.set(xlim=(0, 1.45 * float(V.max())), ylim=(0.5, len(V) + 0.5), yticks=[1, len(V) // 2, len(V)])
    ax.set_xlabel(r"V, $\theta$, x = relu(V − $\theta$)")
    ax.legend(loc="lower right", handlelength=1.1, markerscale=5, borderaxespad=0, handletextpad=0.5)
