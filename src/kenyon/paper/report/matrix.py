"""The part of the report on readings of the paper."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from kenyon.paper.matrix import read_matrix, summary
from kenyon.paper.readings import READINGS


def view(folder: Path) -> dict[str, Any]:
    """Return what the page shows of the readings of a reproduction in a folder; nothing of them if none was run."""
    matrix = read_matrix(folder)
    rows = summary(matrix) if matrix else []
    return {
        "readings": list(READINGS.values()),
        "matrix": matrix,
        "robust": [row for row in rows if row.robust],
        "dependent": [row for row in rows if not row.robust],
        "lost": [own for own in matrix.columns if own.diverged] if matrix else [],
    }
