"""A picture of one episode: the input, the reservoir's states, and the code that thresholds make of them."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from kenyon.reservoir import Reservoir

DPI = 100


def draw_episode(
    inputs: NDArray[np.float32],
    reservoir: Reservoir,
    theta: float | NDArray[np.float32] | None,
    title: str,
    outcome: tuple[int, int, float] | None,
) -> NDArray[np.uint8]:
    """Return an RGB image of an episode: input, hidden state and sparse code.

    Parameters
    ----------
    inputs
        One series, shape (n_steps, n_inputs).
    reservoir
        The reservoir that it is run through.
    theta
        Thresholds of the code; by default, one for all neurons that leaves 15% of them active.
    title
        Names of what is shown.
    outcome
        The action taken, the right one and the reward; None before the decision.
    """
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    V = np.asarray(reservoir.run(inputs[None], trajectory=True))[0]
    level = np.quantile(V[-1], 0.85) if theta is None else theta
    x = np.maximum(V[-1] - level, 0)
    figure = Figure(figsize=(9, 3.5), dpi=DPI, layout="constrained")
    left, middle, right = figure.subplots(1, 3, gridspec_kw={"wspace": 0.08})
    figure.suptitle(f"{title}\n{_decision(outcome)}", fontsize=11)
    _map(figure, left, inputs.T, inputs.shape[1], "input channel", "input s, with noise")
    order = np.argsort(V[-1])[:: max(1, len(x) // 100)]
    _map(figure, middle, V[:, order].T, len(x), "neurons, by last state", "hidden state V")
    if x.any():
        right.stem(np.flatnonzero(x), x[x > 0], basefmt=" ", markerfmt=".")
    right.set(xlim=(0, len(x)), xlabel="neuron", ylim=(0, None), ylabel="x")
    right.set_title(f"sparse code x: {(x > 0).mean():.0%} active", fontsize=10)
    canvas = FigureCanvasAgg(figure)
    canvas.draw()
    return np.ascontiguousarray(np.asarray(canvas.buffer_rgba())[:, :, :3])


def _decision(outcome: tuple[int, int, float] | None) -> str:
    if outcome is None:
        return "before the decision"
    action, right, reward = outcome
    return f"action {action}, {'right' if action == right else f'but {right} was right'}: reward {reward:g}"


def _map(figure: Any, ax: Any, values: NDArray[np.float32], n_rows: int, label: str, title: str) -> None:
    """Draw values as a map; they may be every few of `n_rows` rows."""
    edges = (-0.5, values.shape[1] - 0.5, -0.5, n_rows - 0.5)
    image = ax.imshow(values, aspect="auto", cmap="cividis", interpolation="nearest", origin="lower", extent=edges)
    figure.colorbar(image, ax=ax, pad=0.03)
    ax.set(xlabel="step", ylabel=label)
    ax.set_title(title, fontsize=10)
