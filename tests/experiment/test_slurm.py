import subprocess
import sys
from pathlib import Path

import pytest

SCRIPT = Path(__file__).parents[2] / "examples" / "slurm.py"


def test_the_example_makes_jobs_of_one_thread_workers(tmp_path):
    pytest.importorskip("dask_jobqueue")
    command = [sys.executable, str(SCRIPT), "--show", "--queue", "short", "--cores", "8", "--hours", "3"]
    found = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=True, timeout=120)
    for part in ("#SBATCH -p short", "#SBATCH --cpus-per-task=8", "-t 03:00:00", "--nworkers 8", "--nthreads 1"):
        assert part in found.stdout
