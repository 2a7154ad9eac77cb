"""The command line. Errors are reported on the standard error, in one line each, with exit code 2."""

from __future__ import annotations

import json
import sys
import warnings
from pathlib import Path
from typing import Annotated, Any

import typer

from kenyon._version import __version__

INTERRUPTED = 130  # the code that a shell reports for an interrupted command
STOPPED = "stopped; finished trials are kept, and the same command continues from there"

app = typer.Typer(add_completion=False, rich_markup_mode=None, context_settings={"help_option_names": ["-h", "--help"]})
File = Annotated[Path, typer.Argument(help="An experiment file (TOML).", metavar="EXPERIMENT.toml")]
Folder = Annotated[Path, typer.Argument(help="A folder of results.", metavar="DIR")]
Out = Annotated[Path | None, typer.Option(help="Folder for results; by default results/NAME.", metavar="DIR")]
Workers = Annotated[int | None, typer.Option(help="Number of processes; by default one per processor. 0: this one.")]
Cluster = Annotated[str | None, typer.Option(help="Address of a Dask scheduler.", metavar="tcp://...")]
Json = Annotated[bool, typer.Option("--json", help="One JSON object per event, for machines.")]
Seeds = Annotated[int | None, typer.Option(help="Number of seeds, instead of what the file says.")]


@app.callback(invoke_without_command=True)
def overview(
    context: typer.Context,
    version: Annotated[bool, typer.Option("--version", help="Print the version and leave.")] = False,
) -> None:
    """Reservoir computing with learned sparsity."""
    if version:
        print(f"kenyon {__version__}")
        raise typer.Exit()
    if context.invoked_subcommand is None:
        print(context.get_help())


@app.command()
def run(
    file: File,
    out: Out = None,
    workers: Workers = None,
    cluster: Cluster = None,
    seeds: Seeds = None,
    as_json: Json = False,
) -> None:
    """Run the trials of an experiment that have no result yet."""
    from kenyon.experiment.executor import run_experiment
    from kenyon.experiment.sweep import load_experiment

    experiment = load_experiment(file, seeds=seeds)
    folder = out or Path("results") / experiment.name
    summary = run_experiment(experiment, folder, workers=workers, cluster=cluster, report=_report(as_json))
    _print_summary(summary, experiment.name, folder, as_json)


@app.command()
def status(folder: Folder, as_json: Json = False) -> None:
    """Show which trials are done, running, failed and waiting."""
    from kenyon.experiment.status import describe_status, read_status

    found = read_status(folder)
    print(json.dumps(found, indent=1) if as_json else describe_status(found))


@app.command()
def export(
    folder: Folder,
    file: Annotated[Path, typer.Argument(help="A .csv or .parquet file to write.", metavar="FILE")],
    experiment: Annotated[
        str | None,
        typer.Option(help="One of the experiments in the folder, or its file; by default all, as they were last run."),
    ] = None,
    everything: Annotated[
        bool, typer.Option("--everything", help="Also results of experiments before they were changed.")
    ] = False,
    curves: Annotated[
        bool, typer.Option("--curves", help="Training curves, a row per point, instead of final measures.")
    ] = False,
) -> None:
    """Write results as a table: a row per trial and learner."""
    from kenyon.experiment.export import write_table

    n_rows = write_table(folder, file, experiment, everything=everything, curves=curves)
    print(f"{file}: {n_rows} rows", file=sys.stderr)


@app.command()
def plot(
    folder: Folder,
    kind: Annotated[
        str | None, typer.Option(help="curves, thresholds or sweep; by default sweep if any setting was swept.")
    ] = None,
    x: Annotated[str | None, typer.Option(help="The swept setting along the x axis.", metavar="SETTING")] = None,
    y: Annotated[str | None, typer.Option(help="The measure; by default accuracy.", metavar="VARIABLE")] = None,
    experiment: Annotated[str | None, typer.Option(help="One of the experiments in the folder.")] = None,
    out: Annotated[
        Path | None, typer.Option(help="A .png, .svg or .pdf file; by default DIR/NAME.png.", metavar="FILE")
    ] = None,
) -> None:
    """Draw a picture of results."""
    from kenyon.experiment.picture import write_picture

    print(write_picture(folder, out, experiment, kind=kind, x=x, y=y))


@app.command()
def tune(
    file: File,
    n: Annotated[int, typer.Option("--trials", min=1, help="How many settings to try in total.")] = 50,
    out: Out = None,
    workers: Workers = None,
    cluster: Cluster = None,
    as_json: Json = False,
) -> None:
    """Search for good settings, as the file's [tune] table says."""
    from kenyon.experiment.tune import load_study
    from kenyon.experiment.tune import tune as search

    folder = out or Path("results") / load_study(file).name
    best = search(file, folder, n, workers=workers, cluster=cluster, report=_report(as_json))
    print(json.dumps(best._asdict()) if as_json else best.describe())


@app.command()
def reproduce(
    figures: Annotated[list[str] | None, typer.Option(help="Some of the figures: 1 to 7, S1 to S6.")] = None,
    seeds: Annotated[int | None, typer.Option(min=1, help="Number of seeds: 10, or 1 if quick.")] = None,
    quick: Annotated[bool, typer.Option("--quick", help="Small sizes, in a few minutes, to see it work.")] = False,
    out: Annotated[Path | None, typer.Option(help="Folder; by default reproduction[-quick].", metavar="DIR")] = None,
    workers: Workers = None,
    cluster: Cluster = None,
    as_json: Json = False,
) -> None:
    """Reproduce the paper: every figure, every claim, one report."""
    from kenyon.paper.plan import FIGURES
    from kenyon.paper.reproduce import reproduce as run_all

    done = run_all(
        out or Path("reproduction-quick" if quick else "reproduction"),
        figures=figures or FIGURES,
        seeds=seeds,
        quick=quick,
        workers=workers,
        cluster=cluster,
        report=_report(as_json),
    )
    _print_verdicts(done, as_json)


@app.command()
def readings(
    only: Annotated[
        list[str] | None, typer.Option(help="One of the readings; may be repeated. By default all.")
    ] = None,
    seeds: Annotated[int | None, typer.Option(min=1, help="Number of seeds: 5, or 2 if quick.")] = None,
    quick: Annotated[bool, typer.Option("--quick", help="Small sizes, to see it work.")] = False,
    out: Annotated[Path | None, typer.Option(help="Folder; by default reproduction[-quick].", metavar="DIR")] = None,
    workers: Workers = None,
    cluster: Cluster = None,
    as_json: Json = False,
) -> None:
    """Judge every claim in every reading of the paper."""
    from kenyon.paper.run_readings import run_readings

    folder = out or Path("reproduction-quick" if quick else "reproduction")
    matrix = run_readings(
        folder, only=only or (), seeds=seeds, quick=quick, workers=workers, cluster=cluster, report=_report(as_json)
    )
    _print_matrix(matrix, folder, as_json)


@app.command()
def report(folder: Annotated[Path, typer.Argument(help="A folder of `kenyon reproduce`.", metavar="DIR")]) -> None:
    """Draw the figures and write the report again."""
    from kenyon.paper.reproduce import rewrite

    _print_verdicts(rewrite(folder, report=_report(False)), False)


@app.command()
def schema() -> None:
    """Print the JSON schema of experiment files, for editors."""
    from kenyon.experiment.schema import experiment_schema

    print(json.dumps(experiment_schema(), indent=1))


@app.command()
def info() -> None:
    """Print versions and processor, for questions and reports."""
    from kenyon.provenance import environment, git_commit

    for name, value in {**environment(), "commit": git_commit()}.items():
        print(f"{name:8} {value or '-'}")


def _report(as_json: bool) -> Any:
    from kenyon.experiment.reports import Bar, JsonLines, Lines

    if as_json:
        return JsonLines()
    return Bar() if sys.stderr.isatty() else Lines()


def _print_summary(summary: Any, name: str, folder: Path, as_json: bool) -> None:
    from kenyon.experiment.reports import duration
    from kenyon.experiment.results import how_to_open, note_on_old
    from kenyon.experiment.store import Store

    store = Store(folder)
    n_old = len(store.old())
    n, failed, n_done = summary.n_trials, summary.failed, summary.n_trials - len(summary.failed)
    if as_json:
        print(json.dumps({"event": "end", "trials": n, "done": n_done, "failed": failed, "old": n_old}))
    if failed:
        reason = next(iter(failed.values()))
        raise ValueError(f"{len(failed)} of {n} trials failed, {n_done} are in {folder}; the first: {reason}")
    if not as_json:
        took = f"{summary.n_new} new, {duration(summary.seconds)}"
        print(f"{n_done} of {n} trials are in {folder} ({took}); open them with {how_to_open(store, name)}")
        if n_old:
            print(note_on_old(folder, n_old))


def _print_verdicts(done: Any, as_json: bool) -> None:
    from collections import Counter

    from kenyon.experiment.reports import duration

    counts = Counter(judged.verdict for judged in done.verdicts)
    if as_json:
        print(json.dumps({"event": "end", "folder": str(done.folder), "verdicts": counts, "seconds": done.seconds}))
    elif done.verdicts:
        words = ", ".join(f"{counts[word]} {word}" for word in ("reproduced", "contradicted", "inconclusive"))
        print(f"{len(done.verdicts)} claims: {words}, in {duration(done.seconds)}")
    elif done.report:
        print(
            f"done in {duration(done.seconds)}; a quick run is too small to judge the paper's claims, and judges none"
        )
    if done.report and not as_json:
        print(f"open {done.report} in a browser")
    elif not as_json:
        print(f"the figures are in {done.folder / 'figures'}")


def _print_matrix(matrix: Any, folder: Path, as_json: bool) -> None:
    from kenyon.paper.matrix import markdown, summary

    robust = [row.number for row in summary(matrix) if row.robust]
    if as_json:
        names = [column.name for column in matrix.columns]
        print(json.dumps({"event": "end", "folder": str(folder), "readings": names, "robust": robust}))
        return
    print(markdown(matrix))
    few = ", too small to judge" if matrix.quick else ""
    print(f"{len(robust)} of {len(matrix.claims)} claims are robust over {len(matrix.columns)} readings{few}")


def main(arguments: list[str] | None = None) -> None:
    """Run the command line."""
    from kenyon.experiment.executor import ClusterError, Stopped
    from kenyon.experiment.settings import ConfigError

    warnings.showwarning = _show_warning
    if "" not in sys.path:
        sys.path.append("")  # the current folder, for learners of a user's own; `python -m` adds it too
    try:
        code = app(_spread(sys.argv[1:] if arguments is None else arguments), standalone_mode=False)
        if code == INTERRUPTED:
            _leave(STOPPED, code=INTERRUPTED)
        sys.exit(code or 0)
    except Stopped as stopped:
        _leave(STOPPED, code=int(stopped.code or 1))
    except ConfigError as error:
        _leave(*error.args, code=2)
    except (ValueError, ArithmeticError, OSError, ClusterError, typer.Abort) as error:
        _leave(str(error), code=2)
    except Exception as error:
        if not hasattr(error, "format_message"):
            raise
        _leave(error.format_message(), code=2)  # a mistake in the command itself


def _spread(arguments: list[str]) -> list[str]:
    """Let `--figures 2 3` stand for `--figures 2 --figures 3`."""
    spread: list[str] = []
    for argument in arguments:
        if len(spread) > 1 and spread[-2] == "--figures" and not argument.startswith("-"):
            spread.append("--figures")
        spread.append(argument)
    return spread


def _leave(*messages: str, code: int) -> None:
    for message in messages:
        _tell(message)
    sys.exit(code)


def _show_warning(message: Warning | str, *_: Any, **__: Any) -> None:
    """Print a warning as errors are printed, without the line of source that raised it."""
    _tell(str(message))


def _tell(message: str) -> None:
    print(f"kenyon: {' '.join(message.split())}", file=sys.stderr)
