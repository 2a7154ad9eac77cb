"""How many odours a network stores: online learners, the best linear readouts solved offline, and a ceiling.

What is run is in capacity_plan.py. Online learners run as an experiment, and offline readouts on the same tasks and
reservoirs after them; what has a result is not run again. Prints the tables, writes docs/capacity.md and draws
docs/pictures/capacity.png.

python benchmarks/capacity.py [DIR] [--neurons 1000 500] [--seeds 3] [--workers 2] [--quick]
(--quick: small networks, to see it work; no page, and the picture is in DIR. Neither without all of the networks.)
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import os
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from pathlib import Path

import capacity_page
import capacity_picture
import numpy as np
from capacity_offline import Job, solve
from capacity_page import Network
from capacity_plan import LEARNED, LEARNERS, OFFLINE, QUICK, Study
from timing import machine, say

import kenyon as kn
from kenyon.experiment.first_stages import FirstStages
from kenyon.experiment.reports import Bar, Lines, duration
from kenyon.experiment.store import Store
from kenyon.experiment.sweep import Experiment


def online(study: Study, folder: Path, workers: int | None) -> None:
    """Run all online learners in networks of all sizes, the longest trials first."""
    trials = [trial for n in study.neurons for trial in study.experiment(n).trials]
    whole = Experiment("capacity", tuple(sorted(trials, key=lambda trial: -trial.work)), {})
    report = Bar() if os.isatty(2) else Lines()
    outcome = kn.run_experiment(whole, folder, workers=workers, report=report)
    say(f"online: {outcome.n_new} trials run in {duration(outcome.seconds)}")
    if outcome.failed:
        raise SystemExit(f"{len(outcome.failed)} trials failed, first: {next(iter(outcome.failed.values()))}")


def jobs(study: Study, folder: Path, n_neurons: int) -> list[Job]:
    """Return the offline part of every trial of networks of one size; online learners have run before."""
    experiment = study.experiment(n_neurons)
    settled = FirstStages(Store(folder)).settle(experiment.trials)
    theta = kn.open_results(folder, experiment, neurons=True).theta
    return [
        Job(
            trial.canonical(),
            {
                name: theta.sel(learner=name, size=trial.task.size, seed=trial.seed).values.astype(np.float32)
                for name in LEARNED
            },
            study.effort,
        )
        for trial in settled
    ]


def offline(study: Study, folder: Path, workers: int | None) -> None:
    """Find all offline readouts that have no result yet, the longest jobs first."""
    kept = folder / "offline"
    kept.mkdir(parents=True, exist_ok=True)
    found = [job for n in study.neurons for job in jobs(study, folder, n) if job.missing(kept)]
    found.sort(key=lambda job: -job.work)
    done, total, began = 0.0, sum(job.work for job in found), time.monotonic()
    for number, (job, seconds) in enumerate(_solved(found, kept, workers), 1):
        done += job.work
        left = (time.monotonic() - began) * (total - done) / done
        say(
            f"offline: {number} of {len(found)}, {job.trial.reservoir.n_neurons} neurons, {job.trial.task.size} "
            f"odours, seed {job.trial.seed}: {duration(seconds)}; about {duration(left)} left"
        )


def _solved(found: Sequence[Job], folder: Path, workers: int | None) -> Iterator[tuple[Job, float]]:
    """Yield every job as it is done, with the seconds it took: in this process with 0 workers, otherwise in others."""
    if workers == 0 or not found:
        yield from ((job, solve(job, folder)) for job in found)
        return
    with ProcessPoolExecutor(workers or os.cpu_count(), multiprocessing.get_context("spawn")) as pool:
        running = {pool.submit(solve, job, folder): job for job in found}
        try:
            for future in as_completed(running):
                yield running[future], future.result()
        finally:
            pool.shutdown(cancel_futures=True)


def collect(study: Study, folder: Path, n_neurons: int) -> Network:
    """Return the accuracies of all readouts in networks of one size, and what was chosen for offline ones."""
    accuracy = kn.open_results(folder, study.experiment(n_neurons)).argmax_accuracy
    odours, seeds = study.odours(n_neurons), range(study.seeds_of(n_neurons))
    accuracies = {name: accuracy.sel(learner=name, size=odours).transpose("size", "seed").values for name in LEARNERS}
    by_place = {(job.trial.task.size, job.trial.seed): job for job in jobs(study, folder, n_neurons)}
    chosen = {
        name: [
            [json.loads(by_place[n, seed].file(folder / "offline", name).read_text()) for seed in seeds] for n in odours
        ]
        for name in OFFLINE
    }
    accuracies |= {name: np.array([[one["accuracy"] for one in row] for row in rows]) for name, rows in chosen.items()}
    return Network(n_neurons, odours, study.episodes(n_neurons), accuracies, chosen)


def run(study: Study, folder: Path, workers: int | None = None) -> list[Network]:
    """Run what has no result yet, and return all results."""
    online(study, folder, workers)
    offline(study, folder, workers)
    return [collect(study, folder, n) for n in study.neurons]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", nargs="?", type=Path, default=Path("results/capacity"))
    parser.add_argument("--neurons", type=int, nargs="+")
    parser.add_argument("--seeds", type=int)
    parser.add_argument("--workers", type=int)
    parser.add_argument("--quick", action="store_true")
    given = parser.parse_args()
    whole = QUICK if given.quick else Study()
    study = whole._replace(neurons=tuple(given.neurons or whole.neurons), seeds=given.seeds or whole.seeds)
    folder = given.folder / "quick" if given.quick else given.folder
    networks = run(study, folder, given.workers)
    results = capacity_page.results(networks, machine())
    print(results)
    if given.quick or given.neurons:
        capacity_picture.draw(networks, folder / capacity_picture.PICTURE.name)
    else:
        capacity_picture.draw(networks, capacity_picture.PICTURE)
        capacity_page.write(study, results)


if __name__ == "__main__":
    main()
