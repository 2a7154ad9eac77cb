"""Draws the pictures of the README and the documentation into docs/pictures."""

from pathlib import Path

import matplotlib as mpl
import matplotlib.pyplot as plt
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from numpy.typing import NDArray

import kenyon as kn

FOLDER = Path(__file__).parent / "pictures"
STIMULI = ("ethyl acetate", "1-hexanol", "methyl salicylate")
COLOURS = ("#0072B2", "#D55E00", "#009E73")  # of Okabe and Ito's palette, which all readers can tell apart
STEP = 0.01  # seconds
STYLE = {
    "font.size": 9,
    "axes.titlesize": 9,
    "axes.titlelocation": "left",
    "axes.spines.top": False,
    "axes.spines.right": False,
    "savefig.dpi": 200,
}


def main() -> None:
    """Draw every picture."""
    FOLDER.mkdir(exist_ok=True)
    with mpl.rc_context(STYLE):
        save(from_odour_to_state(), "from_odour_to_state.png")


def save(figure: Figure, name: str) -> None:
    """Write a picture without date or version, so that the same picture is the same file."""
    figure.savefig(FOLDER / name, metadata={"Software": None})
    plt.close(figure)


def from_odour_to_state() -> Figure:
    """Three odours, the noisy input of one episode, and what the reservoir makes of it."""
    odours = kn.load_odours()
    chosen = odours[[odours.names.index(name) for name in STIMULI]]
    task = kn.Task(chosen, np.arange(3)[:, None], np.array([0, 1, 0]), n_classes=2, steps=50, noise=0.3)
    episode = int(np.argmax(task.draw(100).items == 0))
    inputs = task.inputs(1, first=episode)
    V = np.asarray(kn.Reservoir().run(inputs, trajectory=True))[0]

    figure = plt.figure(figsize=(9, 3.3), layout="constrained")
    left, middle, right = figure.subfigures(1, 3, width_ratios=[1.05, 1.1, 1], wspace=0.03)
    draw_odours(left, chosen)
    draw_input(middle.subplots(), inputs[0])
    draw_states(right.subplots(), V)
    return figure


def draw_odours(figure: Figure, odours: kn.Odours) -> None:
    """Draw a row of bars per odour, a bar per channel."""
    axes = figure.subplots(3, sharex=True, sharey=True)
    for ax, name, rates, colour in zip(axes, odours.names, odours.rates, COLOURS, strict=True):
        ax.bar(np.arange(1, 25), rates, color=colour)
        ax.text(0.99, 0.97, name, transform=ax.transAxes, ha="right", va="top", color=colour)
    axes[0].set(title="a  Odours: projection-neuron rates", ylim=(0, 200), yticks=[0, 150], xlim=(0.2, 24.8))
    axes[1].set_ylabel("rate (spikes/s)")
    axes[2].set(xlabel="channel", xticks=[1, 6, 12, 18, 24])


def draw_input(ax: Axes, inputs: NDArray[np.float32]) -> None:
    """Draw channels over time, as a map."""
    n_steps, n_channels = inputs.shape
    extent = (0, n_steps * STEP, n_channels + 0.5, 0.5)
    image = ax.imshow(inputs.T, aspect="auto", extent=extent, cmap="cividis", interpolation="nearest")
    ax.figure.colorbar(image, ax=ax, label="input s", aspect=30)
    ax.set(title=f"b  One episode: {STIMULI[0]}, with noise", xlabel="time (s)", ylabel="channel")
    ax.set(yticks=[1, 6, 12, 18, 24], xticks=[0, 0.25, 0.5])


def draw_states(ax: Axes, V: NDArray[np.float32]) -> None:
    """Draw forty neurons over time, from rest to the decision; the shade is the order at the end."""
    shown = np.vstack([np.zeros(40), V[:, ::25]])
    time = np.arange(len(shown)) * STEP
    shades = mpl.colormaps["cividis"](np.linspace(0, 0.85, 40))
    for states, shade in zip(shown.T[np.argsort(shown[-1])], shades, strict=True):
        ax.plot(time, states, color=shade, linewidth=0.9)
    ax.axvline(time[-1], color="0.3", linestyle=":")
    ax.set(title="c  Reservoir: 40 of 1000 neurons", xlabel="time (s)", ylabel="hidden state V")
    ax.set(xlim=(0, time[-1]), ylim=(0, None), xticks=[0, 0.25, 0.5], yticks=[0, 0.5, 1, 1.5, 2])
    ax.text(time[-1] - 0.01, ax.get_ylim()[1], "decision", ha="right", va="top", color="0.3")


if __name__ == "__main__":
    main()
