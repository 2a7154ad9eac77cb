"""Other systems with the same networks, inputs and learning rule as Kenyon, and which of them may be timed.

A time means nothing if the numbers differ, so `check` compares them first. A library that cannot be imported is
reported as missing.

python benchmarks/peers.py
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from importlib.metadata import version
from typing import Any, NamedTuple

import numpy as np
import peers_arrays as arrays
import peers_reservoirs as libs
import workloads
from workloads import Array, Refused, Series, Updates, Workload

TOLERANCE = 1e-4  # of the greatest value


class System(NamedTuple):
    """A way to do a kind of work; `prepare` imports, converts weights and compiles, and returns what is timed."""

    name: str
    package: str
    prepare: Callable[[Any], Callable[..., Any]]
    few: int | None = None  # how much of the work it is timed on, if the whole takes long and its parts are alike
    other: str = ""  # what it does instead if it cannot do the same: timed, but not compared

    @property
    def version(self) -> str:
        return version(self.package)


OWN = "a different network (its own weights, tanh); states not compared"
EPISODES = (
    System("Kenyon", "kenyon", arrays.kenyon),
    System("SciPy CSR", "scipy", arrays.scipy_csr),
    System("PyTorch sparse", "torch", arrays.torch_csr),
    System("PyTorch dense", "torch", arrays.torch_dense),
    System("JAX scan", "jax", arrays.jax_scan),
    System("ReservoirPy", "reservoirpy", libs.reservoirpy, few=32),
    System("ReservoirPy JAX", "reservoirpy", libs.reservoirpy_jax, few=128),
    System("PyRCN", "pyrcn", libs.pyrcn, few=32),
    System("rclib", "rclib", libs.rclib, few=32, other=OWN),
)
SERIES = (
    System("Kenyon", "kenyon", arrays.kenyon_series),
    System("SciPy CSR", "scipy", arrays.scipy_series),
    System("PyTorch sparse", "torch", arrays.torch_series),
    System("JAX scan", "jax", arrays.jax_series),
    System("ReservoirPy", "reservoirpy", libs.reservoirpy_series),
    System("ReservoirPy JAX", "reservoirpy", libs.reservoirpy_jax_series),
    System("PyRCN", "pyrcn", libs.pyrcn_series, few=5000),
    System("rclib", "rclib", libs.rclib_series, other=OWN),
)
UPDATES = (
    System("Kenyon", "kenyon", arrays.kenyon_updates),
    System("NumPy", "numpy", arrays.numpy_updates),
    System("PyTorch", "torch", arrays.torch_updates),
    System("JAX scan", "jax", arrays.jax_updates),
    System("ReservoirPy LMS", "reservoirpy", libs.reservoirpy_lms, other="a different rule: only W learns, from V"),
)


class Verdict(NamedTuple):
    """The result of a check; `run` is set if the system may be timed."""

    system: System
    text: str
    run: Callable[..., Any] | None = None


def check(work: Workload | Series | Updates, systems: Iterable[System]) -> list[Verdict]:
    """Prepare systems and compare their noise-free states, or what they learn, with those of the first, Kenyon."""
    verdicts: list[Verdict] = []
    wanted: tuple[Array, ...] = ()
    for system in systems:
        try:
            run = system.prepare(work)
        except (ImportError, OSError) as reason:  # OSError: a shared library is missing
            verdicts.append(Verdict(system, f"absent ({reason})"))
            continue
        except Refused as reason:
            verdicts.append(Verdict(system, f"left out ({reason})"))
            continue
        found = probe(work, run)
        wanted = wanted or found
        difference = max(distance(ours, theirs) for ours, theirs in zip(wanted, found, strict=True))
        if system.other:
            verdicts.append(Verdict(system, system.other, run))
        elif difference < TOLERANCE:
            verdicts.append(Verdict(system, f"agrees, within {difference:.0e}", run))
        else:
            verdicts.append(Verdict(system, f"differs, by {difference:.0e} of the greatest value; not timed"))
    return verdicts


def probe(work: Workload | Series | Updates, run: Callable[..., Any]) -> tuple[Array, ...]:
    if isinstance(work, Workload):
        return (run(64 if work.network.n_neurons <= 2000 else 8, 0.0),)
    return (run(2000),) if isinstance(work, Series) else run(200)


def distance(ours: Array, theirs: Array) -> float:
    """Return the greatest difference as a share of the greatest value; infinite if shapes differ or there is a NaN."""
    if ours.shape != theirs.shape or not np.isfinite(theirs).all():
        return np.inf
    return float(np.abs(ours - theirs).max() / np.abs(ours).max())


def main() -> None:
    works = [(make(), EPISODES) for make in (workloads.static, workloads.sequences, workloads.large)]
    works += [(workloads.series(2000), SERIES)]
    works += [(workloads.updates(n_classes, 200), UPDATES) for n_classes in workloads.CLASSES]
    for work, systems in works:
        print(f"\n{work.name}")
        for system, text, run in check(work, systems):
            named = f"{system.name} {system.version}" if run else system.name
            print(f"  {named:<28}{text}", flush=True)


if __name__ == "__main__":
    main()
