"""Results as plain tables, for other programs."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from kenyon import _checks
from kenyon._files import write_whole
from kenyon.experiment.results import open_results

if TYPE_CHECKING:
    import pandas as pd

TABLES = (".csv", ".parquet")


def table(
    folder: str | Path, experiment: str | None = None, *, everything: bool = False, curves: bool = False
) -> pd.DataFrame:
    """Return what `open_results` opens as a table: a row per trial and learner, or per point of the training curves."""
    results = open_results(folder, experiment, everything=everything)
    outer = set(results.accuracy.dims) if "accuracy" in results else set(results.diverged_at.dims)
    measures = [name for name in results.data_vars if set(results[name].dims) <= outer]
    frame: pd.DataFrame = results[["training_accuracy"] if curves else measures].to_dataframe()
    return frame.dropna(subset=["training_accuracy" if curves else "diverged_at"]).reset_index()


def write_table(
    folder: str | Path,
    file: str | Path,
    experiment: str | None = None,
    *,
    everything: bool = False,
    curves: bool = False,
) -> int:
    """Write a table to a .csv or .parquet file; return the number of rows."""
    file = Path(file)
    if file.suffix not in TABLES:
        raise ValueError(f"{file} must end in {' or '.join(TABLES)}")
    frame = table(folder, experiment, everything=everything, curves=curves)
    try:
        contents = frame.to_csv(index=False) if file.suffix == ".csv" else frame.to_parquet(index=False)
        write_whole(file, contents)
    except ImportError:
        raise _checks.missing("a .parquet file (unlike .csv)", "pyarrow") from None
    except OSError as error:
        raise ValueError(f"{file} cannot be written: {(error.strerror or str(error)).lower()}") from None
    return len(frame)
