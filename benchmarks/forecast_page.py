"""The results of `forecast.py` as tables and a picture, in docs/forecasting.md between two marks."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import matplotlib as mpl
import numpy as np

mpl.use("agg")
from matplotlib import pyplot as plt

DOCS = Path(__file__).parent.parent / "docs"
BEGIN, END = "<!-- written by benchmarks/forecast.py -->", "<!-- end -->"
WAYS = ("Kenyon, defaults", "ReservoirPy, tutorial", "Kenyon, tuned", "ReservoirPy, tuned")
COLOURS = dict(zip(WAYS, ("#7aa6d6", "#f0b27a", "#1f5a99", "#c8601a"), strict=True))
OTHERS = ("defaults", "time", "online")


def spread(values: list[float], digits: str = ".2g") -> str:
    """Return the median, and the range in brackets."""
    return f"{np.median(values):{digits}} ({min(values):{digits}} to {max(values):{digits}})"


def errors(found: dict[str, Any]) -> list[str]:
    lines = [f"| series | {' | '.join(WAYS)} | persistence | autoregression |", "|---" * 7 + "|"]
    for name, task in found.items():
        cells = [spread(task[way]["errors"]) for way in WAYS]
        simple = [f"{task['simple'][kind]:.2g}" for kind in ("persistence", "autoregression")]
        lines.append(f"| {' | '.join([name, *cells, *simple])} |")
    return lines


def times(found: dict[str, Any]) -> list[str]:
    lines = [f"| series | {' | '.join(WAYS)} | one Lyapunov time |", "|---" * 6 + "|"]
    for name, task in found.items():
        if task["horizon"]:
            cells = [spread([float(np.median(runs)) for runs in task[way]["times"]], ".1f") for way in WAYS]
            lines.append(f"| {' | '.join([name, *cells])} | {1 / task['step']:.0f} steps |")
    return lines


def seconds(found: dict[str, Any]) -> list[str]:
    lines = ["| | make the network and fit, 5,000 steps | free run, 10,000 steps | both |", "|---|---|---|---|"]
    for name, row in found.items():
        fit, run = row["fit"], row["run"]
        lines.append(f"| {name} | {fit:.2f} s | {run:.2f} s ({run / 10_000 * 1e6:.1f} µs a step) | {fit + run:.2f} s |")
    return lines


def online(found: dict[str, Any]) -> list[str]:
    sizes = list(found)
    heads = [f"{size}: one-step error | times that of ridge" for size in sizes]
    lines = [f"| | {' | '.join(heads)} |", "|---" * (1 + 2 * len(sizes)) + "|"]
    for name in found[sizes[0]]:
        cells = []
        for size in sizes:
            values, base = found[size][name], next(iter(found[size].values()))
            ratio = float(np.median(values) / np.median(base))
            cells.append(f"{spread(values)} | {ratio:.{2 if ratio < 10 else 0}f}")
        lines.append(f"| {name} | {' | '.join(cells)} |")
    return lines


def defaults(found: dict[str, Any]) -> list[str]:
    lines = ["| series, learned from | median error of free runs, five series | worst median |", "|---|---|---|"]
    for name, rows in found.items():
        medians = [float(np.median(row)) for row in rows]
        lines.append(f"| {name} | {np.median([x for row in rows for x in row]):.4f} | {max(medians):.4f} |")
    return lines


def picture(found: dict[str, Any]) -> None:
    """Draw valid times of all starts and seeds."""
    shown = {name: task for name, task in found.items() if task["horizon"]}
    figure, axes = plt.subplots(1, len(shown), figsize=(9, 2.8), layout="constrained")
    for ax, (name, task) in zip(np.atleast_1d(axes), shown.items(), strict=True):
        values = [np.ravel(task[way]["times"]) for way in WAYS]
        boxes = ax.boxplot(values, widths=0.6, patch_artist=True, medianprops={"color": "black"}, flierprops={"ms": 3})
        for box, way in zip(boxes["boxes"], WAYS, strict=True):
            box.set(facecolor=COLOURS[way], edgecolor="black", linewidth=0.6)
        ax.axhline(task["horizon"] * task["step"], color="grey", lw=0.8, ls=":")
        ax.set_xticks(range(1, 5), [way.replace(", ", "\n").replace("ReservoirPy", "RPy") for way in WAYS], fontsize=7)
        ax.set_title(name, fontsize=9)
        ax.set_ylim(bottom=0)
        ax.spines[["top", "right"]].set_visible(False)
    np.atleast_1d(axes)[0].set_ylabel("valid time, Lyapunov times", fontsize=8)
    figure.savefig(DOCS / "pictures" / "forecast_valid_times.png", dpi=150)
    plt.close(figure)


def write_page(parts: Path) -> None:
    """Put tables between the marks of the page."""
    names = ["Lorenz", "Mackey-Glass 17", "Mackey-Glass 30", "NARMA10", "Santa Fe laser", "sunspots", *OTHERS]
    read = {
        name: {
            key: value
            for key, value in json.loads((parts / f"{name}.json").read_text(encoding="utf-8")).items()
            if key != "plan"
        }
        for name in names
    }
    found = {name: task for name, task in read.items() if name not in OTHERS}
    picture(found)
    starts = "median over 20 starts, then median and range of five seeds"
    runs = "Lorenz 75 steps of 0.02, Mackey-Glass 300 steps; 20 starts each"
    series = "median and range of five series and networks"
    sections = {
        "One-step errors, as shares of the deviation (NRMSE); median and range of five seeds:": errors(found),
        f"Valid times of free runs, in Lyapunov times; {starts}:": times(found),
        "Processor time, 1,000 neurons:": seconds(read["time"]),
        f"Defaults alone, 500 neurons, in deviations ({runs}):": defaults(read["defaults"]),
        f"Learned online, in one pass over 5,000 steps of Mackey-Glass 17; {series}:": online(read["online"]),
    }
    text = "\n\n".join(f"{title}\n\n" + "\n".join(lines) for title, lines in sections.items())
    page = DOCS / "forecasting.md"
    before, rest = page.read_text(encoding="utf-8").split(BEGIN)
    page.write_text(f"{before}{BEGIN}\n\n{text}\n\n{END}{rest.split(END)[1]}", encoding="utf-8")
