"""Draws the pictures for docs/forecasting.md into docs/pictures."""

from pathlib import Path

import matplotlib as mpl
import matplotlib.pyplot as plt
import numpy as np

import kenyon as kn

FOLDER = Path(__file__).parent / "pictures"
STYLE = {"font.size": 9, "axes.titlesize": 9, "savefig.dpi": 160}
BLUE, ORANGE, GREY = "#1f5a99", "#c8601a", "#888888"


def lorenz(n: int, h: float = 0.02) -> np.ndarray:
    """Return Lorenz's system on its attractor, by Runge and Kutta's rule."""

    def slope(x: np.ndarray) -> np.ndarray:
        return np.array([10 * (x[1] - x[0]), x[0] * (28 - x[2]) - x[1], x[0] * x[1] - 8 / 3 * x[2]])

    x, found = np.array([1.0, 1.0, 25.0]), []
    for _ in range(n + 500):
        a = slope(x)
        b = slope(x + h / 2 * a)
        c = slope(x + h / 2 * b)
        x = x + h / 6 * (a + 2 * b + 2 * c + slope(x + h * c))
        found.append(x)
    return np.array(found[500:])


def forecast() -> None:
    """Draw a free run beside what came, over time and as an attractor."""
    series, n, ahead = lorenz(6000), 4000, 600
    model = kn.Forecaster(random_state=0).fit(series[:n])
    found, later = model.forecast(ahead), model.forecast(4000)
    t = np.arange(ahead) * 0.02
    figure, axes = plt.subplots(1, 2, figsize=(9.5, 3), layout="constrained", width_ratios=(2.4, 1))
    axes[0].plot(np.arange(-150, 0) * 0.02, series[n - 150 : n, 0], color=GREY, lw=1)
    axes[0].plot(t, series[n : n + ahead, 0], color=GREY, lw=1, label="what came")
    axes[0].plot(t, found[:, 0], color=ORANGE, lw=1, label="free run")
    axes[0].axvline(0, color="black", lw=0.6, ls=":")
    axes[0].set(
        xlabel="time after the last step that was heard", ylabel="x", title="a  Forecaster() on Lorenz's system"
    )
    axes[0].set_ylim(-19, 24)
    axes[0].legend(frameon=False, loc="upper left", ncols=2)
    axes[1].plot(series[:4000, 0], series[:4000, 2], color=GREY, lw=0.3, label="learned from")
    axes[1].plot(later[:, 0], later[:, 2], color=ORANGE, lw=0.3, label="free run, 4,000 steps")
    axes[1].set(xlabel="x", ylabel="z", title="b  the same, in the long run", ylim=(-6, 48))
    legend = axes[1].legend(frameon=False, loc="lower left", fontsize=7)
    for line in legend.get_lines():
        line.set_linewidth(1.5)
    _finish(figure, axes, "forecasting.png")


def measures() -> None:
    """Draw memory, its price and stability over the spectral radius."""
    radii = np.array([0.2, 0.4, 0.6, 0.8, 0.9, 1.0, 1.1, 1.2, 1.3, 1.5])
    options = {"n_inputs": 1, "input_weights": "gaussian", "activation": "tanh", "seed": 0}
    networks = [kn.Reservoir(100, 1.0, radius, input_gain=0.3, bias_scale=0.3, **options) for radius in radii]
    series = np.random.default_rng(0).uniform(-1, 1, (1200, 1))
    found = [kn.information_capacity(network, 30, n_steps=6000) for network in networks]
    exponents = [kn.lyapunov_exponent(network, series) for network in networks]
    figure, axes = plt.subplots(1, 3, figsize=(10, 2.8), layout="constrained")
    for k, colour in ((1, "#9cc3e6"), (5, BLUE), (9, ORANGE)):
        axes[0].plot(found[k].linear, color=colour, marker=".", ms=3, lw=1, label=f"radius {radii[k]:g}")
    axes[0].set(xlabel="delay, steps", ylabel="share of variance", title="a  memory of each delay", ylim=(0, 1.05))
    axes[1].plot(radii, [part.linear.sum() for part in found], color=BLUE, marker=".", label="linear: memory capacity")
    axes[1].plot(radii, [part.quadratic.sum() for part in found], color=ORANGE, marker=".", label="quadratic")
    axes[1].set(xlabel="spectral radius", ylabel="capacity", title="b  of 100 neurons", ylim=(0, None))
    axes[2].plot(radii, exponents, color="black", marker=".")
    axes[2].axhline(0, color=GREY, lw=0.8, ls=":")
    axes[2].set(xlabel="spectral radius", ylabel="per step", title="c  Lyapunov exponent")
    for ax in axes[:2]:
        ax.legend(frameon=False, fontsize=8)
    _finish(figure, axes, "measures.png")


def _finish(figure: plt.Figure, axes: np.ndarray, name: str) -> None:
    for ax in axes:
        ax.spines[["top", "right"]].set_visible(False)
    figure.savefig(FOLDER / name, metadata={"Software": None})
    plt.close(figure)


if __name__ == "__main__":
    mpl.use("agg")
    with mpl.rc_context(STYLE):
        forecast()
        measures()
