"""A Dask cluster of SLURM jobs, for `kenyon run --cluster`.

Run this on a login node, inside tmux or as a small job, in the environment that has Kenyon:

    pip install distributed dask-jobqueue
    python examples/slurm.py --jobs 10 --queue short --hours 2

It prints the address of its scheduler, and keeps the jobs going until you press Ctrl-C:

    kenyon run experiment.toml --cluster tcp://10.0.0.1:38291

Each job runs one worker process per core, each with one thread. Jobs may come and go: a trial lost with its job
is run again elsewhere, and only `kenyon run` writes results, so no shared disk is needed.
"""

import argparse
import time

from dask_jobqueue import SLURMCluster


def main() -> None:
    parser = argparse.ArgumentParser(description="Start a Dask cluster of SLURM jobs.")
    parser.add_argument("--jobs", type=int, default=4, help="jobs to keep in the queue")
    parser.add_argument("--cores", type=int, default=4, help="cores of each job, a worker each")
    parser.add_argument(
        "--memory", default="8GB", help="memory of each job; a trial of 1000 neurons needs about 0.4 GB"
    )
    parser.add_argument("--hours", type=int, default=1, help="time limit of each job")
    parser.add_argument("--queue", default=None, help="partition")
    parser.add_argument("--account", default=None, help="account that is charged")
    parser.add_argument("--interface", default=None, help="network interface that jobs can reach, such as ib0")
    parser.add_argument("--show", action="store_true", help="print the job script and leave")
    options = parser.parse_args()
    with SLURMCluster(
        cores=options.cores,
        processes=options.cores,
        memory=options.memory,
        walltime=f"{options.hours:02d}:00:00",
        queue=options.queue,
        account=options.account,
        interface=options.interface,
        job_script_prologue=["export OMP_NUM_THREADS=1"],
    ) as cluster:
        if options.show:
            print(cluster.job_script())
            return
        cluster.scale(jobs=options.jobs)
        print(f"kenyon run experiment.toml --cluster {cluster.scheduler_address}", flush=True)
        while True:
            time.sleep(60)


if __name__ == "__main__":
    main()
