"""Draws the pictures of the README and the documentation into docs/pictures."""

import contextlib
import io
import re
import tempfile
from pathlib import Path
from typing import Any

import matplotlib as mpl
import matplotlib.pyplot as plt
import numpy as np
import xarray as xr
from matplotlib.axes import Axes
from matplotlib.colors import ListedColormap, Normalize
from matplotlib.figure import Figure
from numpy.typing import NDArray

import kenyon as kn
from kenyon._looks import BLUE, GREEN, LOOKS, ORANGE
from kenyon.envs import ReservoirFeatures, TaskEnv

FOLDER = Path(__file__).parent / "pictures"
STIMULI = ("ethyl acetate", "1-hexanol", "methyl salicylate")
COLOURS = (BLUE, ORANGE, GREEN)
STEP = 0.01  # seconds
SEEDS = (0, 1, 2)
LEARNERS = {  # name, learner, colour, height of the label next to the curves
    "GradientWeights": (kn.GradientWeights(), LOOKS["GradientWeights"].colour, 0.635),
    "GradientThresholds": (kn.GradientThresholds(), LOOKS["GradientThresholds"].colour, 0.81),
    "Metropolis": (kn.Metropolis(), LOOKS["Metropolis"].colour, 0.912),
    "Composed": (kn.Composed(), LOOKS["Composed"].colour, 0.963),
    "Normalised": (kn.Normalised(), LOOKS["Normalised"].colour, 1.005),
}
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
        save(learned_sparsity(), "learned_sparsity.png")
        save(stored_odours(), "stored_odours.png")
        save(sweep(), "sweep.png")
    plt.imsave(FOLDER / "environment.png", environment(), metadata={"Software": None})


def save(figure: Figure, name: str) -> None:
    """Write a picture without date or version, so that the same picture is the same file."""
    figure.savefig(FOLDER / name, metadata={"Software": None})
    plt.close(figure)


def environment() -> NDArray[np.uint8]:
    """Render a decided episode as its environment does."""
    env = ReservoirFeatures(TaskEnv(kn.SequenceTask(kn.load_odours()), render_mode="rgb_array"), kn.Reservoir(200))
    env.reset(seed=0)
    env.step(1)
    return env.render()


def sweep() -> Figure:
    """Run the experiment of the page on experiments as the page does, up to its picture."""
    page = (Path(__file__).parent / "experiments.md").read_text(encoding="utf-8")
    names: dict[str, Any] = {}
    silent = contextlib.redirect_stdout(io.StringIO())
    with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder), silent:
        for block in re.findall(r"```python\n(.*?)```", page, re.DOTALL)[:2]:
            exec(compile(block, "experiments.md", "exec"), names)
    figure: Figure = names["ax"].figure
    figure.set_size_inches(6, 3.5)
    return figure


def from_odour_to_state() -> Figure:
    """Three odours, the noisy input of one episode, and what the reservoir makes of it."""
    odours = kn.load_odours()
    chosen = odours[STIMULI]
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


def stored_odours() -> Figure:
    """Draw accuracy against odours with 1,000 neurons, as the page on capacity has it: ours and linear readouts."""
    odours, rows = capacities("1,000 neurons")
    linear = [values for name, values in rows.items() if name.startswith(("ridge", "logistic"))]
    on_V = [values for name, values in rows.items() if name.endswith(" on V")]
    lines = {
        "thresholds that learn, online": (rows["Normalised, both"], LOOKS["Normalised"].colour, "-", "v"),
        "best linear readout, offline": (np.max(linear, axis=0), BLUE, "-", "P"),
        "the same, of V only": (np.max(on_V, axis=0), "0.45", "--", "h"),
    }
    figure, ax = plt.subplots(figsize=(6, 3), layout="constrained")
    for limit, text in ((2000, "Cover's limit,\n1,000 units"), (4000, "Cover's limit,\n2,000 units")):
        ax.axvline(limit, color="0.7", linestyle=":", zorder=0)
        ax.text(limit + 60, 0.505, text, color="0.45", fontsize=7, va="bottom")
    for name, (values, colour, dash, marker) in lines.items():
        ax.plot(odours, values, color=colour, linestyle=dash, marker=marker, markersize=4, clip_on=False)
        ax.text(odours[-1] + 120, values[-1], name, color=colour, va="center", fontsize=8)
    ax.set(xlim=(0, odours[-1]), ylim=(0.5, 1.0), xlabel="odours", ylabel="accuracy on fresh noise")
    ax.set_xticks([1000, 2000, 4000, 6000], ["1,000", "2,000", "4,000", "6,000"])
    return figure


def capacities(section: str) -> tuple[NDArray[np.float64], dict[str, NDArray[np.float64]]]:
    """Return odours and mean accuracies from the table of one section of the page on capacity."""
    page = (Path(__file__).parent / "capacity.md").read_text(encoding="utf-8")
    table = page.partition(f"### {section}\n")[2].partition("\n###")[0]
    rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in table.splitlines() if line[:2] == "| "]
    numbers = {name: np.array([float(cell.split()[0].replace(",", "")) for cell in cells]) for name, *cells in rows}
    return numbers.pop("odours"), numbers


def learned_sparsity() -> Figure:
    """Training curves of the five learners, and the codes that thresholds make."""
    odours = kn.load_odours()
    learners = {name: learner for name, (learner, _, _) in LEARNERS.items()}
    tasks, networks = [kn.StaticTask(odours, seed=seed) for seed in SEEDS], [kn.Reservoir(seed=seed) for seed in SEEDS]
    results = [
        kn.train(learners, reservoir, task, 60_000, seed=seed, n_bins=40, threads=2)
        for seed, task, reservoir in zip(SEEDS, tasks, networks, strict=True)
    ]
    figure = plt.figure(figsize=(9, 3.5), layout="constrained")
    left, right = figure.subfigures(1, 2, width_ratios=[1, 1.25], wspace=0.03)
    draw_curves(left.subplots(), results)
    (batch,) = networks[0].stream(tasks[0], 1000, seed=99, batch_size=1000)
    _, first = np.unique(batch.items, return_index=True)
    draw_codes(right, batch.states[first[:20], ::16], results[0])
    return figure


def draw_curves(ax: Axes, results: list[xr.Dataset]) -> None:
    """Draw the mean over seeds, and a band from the lowest to the highest, each named at its end."""
    episode = results[0].episode / 1000
    for name, (_, colour, height) in LEARNERS.items():
        curves = np.array([result.training_accuracy.sel(learner=name) for result in results])
        ax.fill_between(episode, curves.min(axis=0), curves.max(axis=0), color=colour, alpha=0.2, linewidth=0)
        ax.plot(episode, curves.mean(axis=0), color=colour, linewidth=1.6)
        ax.text(61, height, name, color=colour, va="center")
    ax.axhline(0.5, color="0.5", linestyle=":", linewidth=1)
    ax.text(60, 0.505, "chance", color="0.4", ha="right", va="bottom", fontsize=8)
    ax.set(
        title="a  Learning 140 odours by heart", xlabel="episodes (thousands)", ylabel="right choices while learning"
    )
    ax.set(xlim=(0, 60), ylim=(0.48, 1.02), xticks=[0, 20, 40, 60], yticks=[0.5, 0.6, 0.7, 0.8, 0.9, 1.0])


def draw_codes(figure: Figure, V: NDArray[np.float32], result: xr.Dataset) -> None:
    """Draw what readouts see of the same states, a row per neuron and a column per odour; white is silent."""
    order = np.argsort(V.mean(axis=0))
    axes = figure.subplots(1, 3, sharey=True)
    size = Normalize(0, float(np.quantile(V, 0.98)))
    colours = ListedColormap(mpl.colormaps["Greys"](np.linspace(0.35, 1, 256)))  # the weakest is still not white
    colours.set_bad("white")
    heads = {"GradientWeights": "no thresholds", "Composed": "Composed", "Normalised": "Normalised"}
    for ax, (name, head) in zip(axes, heads.items(), strict=True):
        chosen = result.sel(learner=name)
        x = np.maximum(V - chosen.theta.values[::16], 0)[:, order]
        image = ax.imshow(np.ma.masked_equal(x.T, 0), aspect="auto", cmap=colours, norm=size, interpolation="nearest")
        ax.set_title(f"{head}\n{100 * float(chosen.coding_level):.3g}% active", loc="center", color=LEARNERS[name][1])
        ax.set(xticks=[0, 9, 19], xticklabels=[1, 10, 20], yticks=[])
        ax.spines[["top", "right"]].set_visible(True)
    axes[0].set_ylabel("63 of 1000 neurons, by mean state")
    axes[1].set_xlabel("odour")
    figure.colorbar(image, ax=axes, label="x = relu(V - theta); white: silent", aspect=30, extend="max")
    figure.suptitle("b  What the readout sees", x=0.01, ha="left", fontsize=9)


if __name__ == "__main__":
    main()
