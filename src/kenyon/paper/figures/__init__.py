"""The figures of the reproduction: functions of stored results that simulate nothing."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import Any

from matplotlib.figure import Figure

from kenyon._looks import WARNING
from kenyon.paper import style
from kenyon.paper.figures import controls, forgetting, network, normalised, performance, reward, specificity, stability
from kenyon.paper.plan import SEQUENCES, STIMULI, Results

DRAWN: Mapping[str, Callable[[Results], Any]] = {
    "1": network.figure1,
    "2": partial(performance.figure_of_accuracy, "2", STIMULI),
    "3": partial(performance.figure_of_thresholds, "3"),
    "4": partial(performance.figure_of_accuracy, "4", SEQUENCES),
    "5": partial(performance.figure_of_thresholds, "5"),
    "6": specificity.figure6,
    "7": reward.figure7,
    "S1": controls.figure_s1,
    "S2": controls.figure_s2,
    "S3": controls.figure_s3,
    "S4": stability.figure_s4,
    "S5": forgetting.figure_s5,
    "S6": normalised.figure_s6,
}
# Metadata of files, without dates and versions, so that the same figure gives the same file.
METADATA: Mapping[str, dict[str, Any]] = {
    "svg": {"Date": None, "Creator": None},
    "pdf": {"CreationDate": None, "Creator": None, "Producer": None},
    "png": {"Software": None},
}


def draw(figure: str, results: Results) -> Figure:
    """Draw a figure of `kenyon.paper.plan.FIGURES`, such as "2" or "S1"; one of a quick plan says so."""
    if figure not in DRAWN:
        raise ValueError(f"there is no figure {figure!r}; choose from {', '.join(DRAWN)}")
    with style.context():
        drawn: Figure = DRAWN[figure](results)
        if results.plan.quick:
            drawn.suptitle(style.QUICK, color=WARNING, fontsize=8, fontweight="bold")
    return drawn


def save(figure: str, results: Results, folder: str | Path) -> list[Path]:
    """Draw a figure and write it as figure<name>.svg, .pdf and .png; the same results give the same files."""
    return write(draw(figure, results), figure, folder)


def write(drawn: Figure, name: str, folder: str | Path) -> list[Path]:
    """Write a drawn figure as figure<name>.svg, .pdf and .png."""
    folder = Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    written = [folder / f"figure{name}.{kind}" for kind in METADATA]
    with style.context():
        drawn.draw_without_rendering()
        drawn.set_layout_engine(
            None
        )  # laid out once, so that all three files show the same picture, and drawn but once each
        for path, metadata in zip(written, METADATA.values(), strict=True):
            drawn.savefig(path, metadata=metadata)
    return written
