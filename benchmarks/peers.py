"""Other systems on the same networks, inputs and rule as Kenyon, each in the quickest form found for it.

Forms that were tried and lost are named with each adapter, with the factor by which they lost on two cores. A time is
worth nothing if the numbers differ: `check` says which systems may be timed.

python benchmarks/peers.py
"""

from __future__ import annotations

import importlib
import warnings
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from importlib.metadata import version
from typing import Any, NamedTuple

import numpy as np
import workloads
from numpy.typing import NDArray
from scipy import sparse
from workloads import Network, Series, Updates, Workload

import kenyon as kn

THREADS = 2
TOLERANCE = 1e-4  # of the greatest value

Array = NDArray[np.floating]
Finals = Callable[[int, float], Array]  # n episodes and noise -> the states at their ends, (n, n_neurons)
Trajectory = Callable[[int], Array]  # n steps -> the states after each, (n, n_neurons)
Learning = Callable[[int], tuple[Array, Array]]  # n updates -> W, theta


class System(NamedTuple):
    """A way to do a kind of work; `prepare` converts weights and compiles, and what it returns is timed."""

    name: str
    package: str
    prepare: Callable[[Any], Callable[..., Any]]
    few: int | None = None  # how much of the work it is timed on, where it takes long and each part as long as another
    other: str = ""  # what it does instead, where it cannot do the same: timed, but not compared

    @property
    def version(self) -> str:
        return version(self.package)

    def missing(self) -> str:
        """Say why it cannot be imported; nothing if it can."""
        try:
            importlib.import_module(self.package)
        except Exception as error:  # a library may fail in ways of its own
            return f"{type(error).__name__}: {error}"
        return ""


class Refused(Exception):
    """A system cannot take this work, with the reason."""


# --- Kenyon


def kenyon(work: Workload) -> Finals:
    task, reservoir = work.task, work.reservoir

    def run(n: int, noise: float) -> Array:
        kind = {"n_classes": task.n_classes, "steps": task.steps, "noise": noise}
        shown = kn.Task(task.odours, task.items, task.labels, **kind)
        return np.concatenate([batch.states for batch in reservoir.stream(shown, n, threads=THREADS)])

    return run


def kenyon_series(work: Series) -> Trajectory:
    return lambda n: work.reservoir.run(work.inputs[None, :n], trajectory=True, threads=THREADS)[0]


def kenyon_updates(work: Updates) -> Learning:
    learner = kn.GradientThresholds(batch=1)

    def run(n: int) -> tuple[Array, Array]:
        state = learner.begin(work.V[:n], work.n_classes, kn.Source(0, "benchmark"))
        state, _ = learner.update(state, work.V[:n], work.labels[:n])
        readout = learner.readout(state)
        return readout.W, readout.theta

    run(10)  # compiles
    return run


# --- NumPy and SciPy


def scipy_csr(work: Workload) -> Finals:
    """[W | W_in] times the states and inputs of a block, in place, blocks on two threads.

    Blocks of 64, 128 and 256 episodes of 1000 neurons: 1.7, 1.8 and 1.2 times as long as of 512; of 2048 (the whole
    batch on one thread): 3.0. Of 20,000 neurons, blocks of 16, 64 and 128: 1.4, 1.2 and 1.6 times as long as of 32.
    """
    net, weights = work.network, work.network.both
    leak = np.float32(net.leak)

    def block(clean: NDArray[np.float32], noise: np.float32, seed: int) -> Array:
        rng = np.random.default_rng(seed)
        both = np.zeros((weights.shape[1], clean.shape[-1]), np.float32)
        V, s = both[: net.n_neurons], both[net.n_neurons :]
        for element in clean:
            for _ in range(work.steps):
                rng.standard_normal(dtype=np.float32, out=s)
                s *= noise
                s += 1
                s *= element
                drive = weights @ both
                np.maximum(drive, 0, out=drive)
                drive *= leak
                V *= 1 - leak
                V += drive
        return V.T

    size = 512 if net.n_neurons <= 2000 else 32

    def run(n: int, noise: float) -> Array:
        blocks = columns(work, n, size)
        with ThreadPoolExecutor(THREADS) as pool:
            return np.concatenate(list(pool.map(block, blocks, [np.float32(noise)] * len(blocks), range(len(blocks)))))

    return run


def scipy_series(work: Series) -> Trajectory:
    """Input of all steps in one product, then W V step by step."""
    net, leak = work.network, np.float32(work.network.leak)

    def run(n: int) -> Array:
        out = np.ascontiguousarray((net.W_in @ work.inputs[:n].T).T)
        V = np.zeros(net.n_neurons, np.float32)
        for drive in out:
            drive += net.W @ V
            np.maximum(drive, 0, out=drive)
            drive *= leak
            V *= 1 - leak
            drive += V
            V[:] = drive
        return out

    return run


def numpy_updates(work: Updates) -> Learning:
    """In single precision and in place; the quickest of four ways that were tried."""
    eta_W, eta_theta, targets = np.float32(work.eta_W), np.float32(work.eta_theta), work.targets

    def run(n: int) -> tuple[Array, Array]:
        theta = np.zeros(work.V.shape[1], np.float32)
        W = np.zeros((work.n_classes, len(theta)), np.float32)
        x, pull, dW, active = np.empty_like(theta), np.empty_like(theta), np.empty_like(W), np.empty(len(theta), bool)
        for v, target in zip(work.V[:n], targets[work.labels[:n]], strict=True):
            np.subtract(v, theta, out=x)
            np.greater(x, 0, out=active)
            np.multiply(x, active, out=x)
            e = target - W @ x
            np.matmul(eta_theta * e, W, out=pull)
            pull *= active
            np.multiply((eta_W * e)[:, None], x, out=dW)
            W += dW
            theta -= pull
        return W, theta

    return run


# --- PyTorch


def torch_dense(work: Workload) -> Finals:
    """Blocks of 256; of 128, 512 and 1024: 1.3, 1.1 and 1.1 times as long; episodes as rows: 1.2."""
    import torch

    if work.network.n_neurons > 2000:
        raise Refused(f"a dense W would take {4 * work.network.n_neurons**2 / 1e9:.1f} GB")
    return _torch(work, torch.from_numpy(work.network.both.toarray()), 256)


def torch_csr(work: Workload) -> Finals:
    """Blocks of 512; of 128, 256 and 1024: 2.0, 1.2 and 1.1 times as long; blocks on two threads of ours: as long.

    Indices of 64 bits: 9 times as long. Of 20,000 neurons, blocks of 128 and 256: twice as long as of 64.
    """
    return _torch(work, torch_sparse(work.network.both), 512 if work.network.n_neurons <= 2000 else 64)


def _torch(work: Workload, weights: Any, size: int) -> Finals:
    import torch

    torch.set_num_threads(THREADS)
    n_neurons, leak = work.network.n_neurons, work.network.leak

    @torch.inference_mode()
    def block(clean: Any, noise: float) -> Array:
        both = torch.zeros(weights.shape[1], clean.shape[-1])
        V, s = both[:n_neurons], both[n_neurons:]
        drive = torch.empty_like(V)
        for element in clean:
            for _ in range(work.steps):
                s.normal_().mul_(noise).add_(1).mul_(element)
                torch.addmm(drive, weights, both, beta=0, out=drive)
                V.lerp_(drive.relu_(), leak)
        return V.T.numpy()

    return lambda n, noise: np.concatenate([block(torch.from_numpy(c), noise) for c in columns(work, n, size)])


def torch_series(work: Series) -> Trajectory:
    """Sparse, on one thread; on two: 1.4 times as long; dense: 4.2."""
    import torch

    W, leak = torch_sparse(work.network.W), work.network.leak
    W_in = torch.from_numpy(work.network.W_in.toarray())

    @torch.inference_mode()
    def run(n: int) -> Array:
        torch.set_num_threads(1)
        out = torch.from_numpy(work.inputs[:n]) @ W_in.T
        V, drive = torch.zeros(len(W_in)), torch.empty(len(W_in))
        for u in out:
            torch.addmv(u, W, V, out=drive)
            V = torch.lerp(V, drive.relu_(), leak, out=u)
        torch.set_num_threads(THREADS)
        return out.numpy()

    return run


def torch_updates(work: Updates) -> Learning:
    """Without autograd and in place, on one thread."""
    import torch

    V, targets = torch.from_numpy(work.V), torch.from_numpy(work.targets[work.labels])

    @torch.inference_mode()
    def run(n: int) -> tuple[Array, Array]:
        torch.set_num_threads(1)
        theta = torch.zeros(V.shape[1])
        W = torch.zeros(work.n_classes, len(theta))
        for v, target in zip(V[:n], targets[:n], strict=True):
            x = (v - theta).relu_()
            e = torch.addmv(target, W, x, alpha=-1)
            theta.addcmul_(W.T.mv(e), x > 0, value=-work.eta_theta)
            W.addr_(e, x, alpha=work.eta_W)
        torch.set_num_threads(THREADS)
        return W.numpy(), theta.numpy()

    return run


def torch_sparse(weights: sparse.csr_array) -> Any:
    """Return compressed rows with indices of 32 bits, which PyTorch hands to MKL."""
    import torch

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # that its sparse tensors are new
        indices = (torch.from_numpy(part.astype(np.int32)) for part in (weights.indptr, weights.indices))
        return torch.sparse_csr_tensor(*indices, torch.from_numpy(weights.data), weights.shape)


# --- JAX


def jax_scan(work: Workload) -> Finals:
    """`lax.scan` over steps with [W | W_in] as BCSR, blocks of 256 on two threads, random numbers by "rbg".

    Blocks of 128 and 512: 1.3 and 1.2 times as long; on one thread: twice; Threefry: 1.2. Rows gathered and added up
    column by column: 1.7; the same with rows sorted by length and cut into slices: as long; as BCOO, segment sums and
    dense: 15 to 25 times.
    """
    import jax
    import jax.numpy as jnp
    from jax.experimental.sparse import BCSR

    net, weights = work.network, BCSR.from_scipy_sparse(work.network.both)
    size = 256 if net.n_neurons <= 2000 else 64

    @jax.jit
    def block(clean: Any, key: Any, noise: Any) -> Any:
        def step(V: Any, now: Any) -> tuple[Any, None]:
            key, element = now
            s = clean[element] * (1 + noise * jax.random.normal(key, clean.shape[1:], jnp.float32))
            drive = jax.nn.relu(weights @ jnp.concatenate([V, s]))
            return (1 - net.leak) * V + net.leak * drive, None

        elements = jnp.repeat(jnp.arange(len(clean)), work.steps)
        start = jnp.zeros((net.n_neurons, clean.shape[-1]), jnp.float32)
        return jax.lax.scan(step, start, (jax.random.split(key, len(elements)), elements))[0].T

    def run(n: int, noise: float) -> Array:
        blocks = columns(work, n, size)
        keys = jax.random.split(jax.random.key(0, impl="rbg"), len(blocks))
        with ThreadPoolExecutor(THREADS) as pool:
            return np.concatenate(list(pool.map(lambda c, key: np.asarray(block(c, key, noise)), blocks, keys)))

    run(size, work.noise)  # compiles
    return run


def jax_series(work: Series) -> Trajectory:
    """Input of all steps in one product; W V as a sum over segments. Dense: 1.1 times as long; as BCSR: 4.5."""
    import jax
    import jax.numpy as jnp

    net, W_in = work.network, work.network.W_in.toarray()
    rows = np.repeat(np.arange(net.n_neurons, dtype=np.int32), np.diff(net.W.indptr))

    def step(V: Any, u: Any) -> tuple[Any, Any]:
        arriving = net.W.data * V[net.W.indices]
        drive = jax.nn.relu(u + jax.ops.segment_sum(arriving, rows, net.n_neurons, indices_are_sorted=True))
        V = (1 - net.leak) * V + net.leak * drive
        return V, V

    scan = jax.jit(lambda inputs: jax.lax.scan(step, jnp.zeros(net.n_neurons, jnp.float32), inputs @ W_in.T)[1])
    return warm(lambda n: np.asarray(scan(work.inputs[:n])), len(work.inputs))


def jax_updates(work: Updates) -> Learning:
    import jax
    import jax.numpy as jnp

    def step(learned: Any, episode: Any) -> tuple[Any, None]:
        (W, theta), (v, target) = learned, episode
        x = jax.nn.relu(v - theta)
        e = target - W @ x
        return (W + work.eta_W * e[:, None] * x, theta - work.eta_theta * (e @ W) * (x > 0)), None

    @jax.jit
    def scan(V: Any, targets: Any) -> Any:
        n_neurons = V.shape[1]
        start = jnp.zeros((work.n_classes, n_neurons), jnp.float32), jnp.zeros(n_neurons, jnp.float32)
        return jax.lax.scan(step, start, (V, targets))[0]

    def run(n: int) -> tuple[Array, Array]:
        W, theta = scan(work.V[:n], work.targets[work.labels[:n]])
        return np.asarray(W), np.asarray(theta)

    return warm(run, len(work.V))


# --- ReservoirPy


def reservoirpy(work: Workload) -> Finals:
    """Episodes from rest, one after another, in double precision with sparse weights, as a list of series.

    Two workers: 1.2 times as long; dense W: 17 or more. Its nodes hold one state, so there are no batches.
    """
    node = reservoirpy_node(work.network)

    def run(n: int, noise: float) -> Array:
        node.reset()
        return np.stack([states[-1] for states in node.run(list(shown(work, n, noise).astype(np.float64)))])

    return run


def reservoirpy_series(work: Series) -> Trajectory:
    node = reservoirpy_node(work.network)

    def run(n: int) -> Array:
        node.reset()
        return node.run(work.inputs[:n].astype(np.float64))

    return run


def reservoirpy_node(net: Network) -> Any:
    from reservoirpy.nodes import Reservoir

    W, W_in = net.W.astype(np.float64), net.W_in.toarray().astype(np.float64)
    node = Reservoir(W=W, Win=W_in, lr=net.leak, activation="relu", bias=0.0)
    node.initialize(np.zeros((1, W_in.shape[1])))
    return node


def reservoirpy_lms(work: Updates) -> Learning:
    from reservoirpy.nodes import LMS

    def run(n: int) -> tuple[Array, Array]:
        node = LMS(learning_rate=work.eta_W, fit_bias=False)
        node.partial_fit(work.V[:n], work.targets[work.labels[:n]])
        return node.Wout.T, np.zeros(work.V.shape[1])

    return run


def reservoirpy_jax(work: Workload) -> Finals:
    """Its `run` on 64 episodes, compiled as a whole, W as BCOO.

    As it comes it compiles at every call: 24 times as long. W dense: 4 times; as BCSR: 7.
    """
    import jax

    node, size = reservoirpy_jax_node(work.network), 64

    @jax.jit
    def finals(inputs: Any) -> Any:
        node.reset()
        return node.run(inputs)[:, -1]

    def run(n: int, noise: float) -> Array:
        return np.concatenate([np.asarray(finals(shown(work, n, noise, k, size))) for k in range(0, n, size)])

    run(size, work.noise)  # compiles
    return run


def reservoirpy_jax_series(work: Series) -> Trajectory:
    import jax

    node = reservoirpy_jax_node(work.network)

    @jax.jit
    def states(inputs: Any) -> Any:
        node.reset()
        return node.run(inputs)

    return warm(lambda n: np.asarray(states(work.inputs[:n])), len(work.inputs))


def reservoirpy_jax_node(net: Network) -> Any:
    import jax.numpy as jnp
    from jax.experimental.sparse import BCOO
    from reservoirpy.jax.nodes import Reservoir

    W, W_in = BCOO.from_scipy_sparse(net.W), jnp.asarray(net.W_in.toarray())
    node = Reservoir(net.n_neurons, W=W, Win=W_in, lr=net.leak, activation="relu", bias=0.0)
    node.initialize(jnp.zeros((1, W_in.shape[1]), jnp.float32))
    return node


# --- PyRCN and rclib


def pyrcn(work: Workload) -> Finals:
    """Its blocks, sparse, one episode after another; its batches in PyTorch are dense and took longer."""
    transform = pyrcn_blocks(work.network)
    return lambda n, noise: np.stack([transform(one)[-1] for one in shown(work, n, noise)])


def pyrcn_series(work: Series) -> Trajectory:
    transform = pyrcn_blocks(work.network)
    return lambda n: transform(work.inputs[:n])


def pyrcn_blocks(net: Network) -> Callable[[Array], Array]:
    from pyrcn.base.blocks import InputToNode, NodeToNode

    n_neurons, n_inputs = net.W_in.shape
    into = InputToNode(
        hidden_layer_size=n_neurons,
        input_activation="identity",
        predefined_input_weights=net.W_in.T.toarray().astype(np.float64),
        predefined_bias_weights=np.zeros((n_neurons, 1)),
    )
    between = NodeToNode(
        hidden_layer_size=n_neurons,
        reservoir_activation="relu",
        leakage=net.leak,
        predefined_recurrent_weights=net.W.T.astype(np.float64),
    )
    some = np.zeros((2, n_inputs))
    between.fit(into.fit(some).transform(some))
    return lambda inputs: between.transform(into.transform(inputs))


def rclib(work: Workload) -> Finals:
    """Step by step from Python: it hands out one state at a time."""
    reservoir = rclib_reservoir(work.reservoir)

    def final(inputs: Array) -> Array:
        reservoir.resetState()
        for s in inputs:
            V = reservoir.advance(s[None])
        return V[0]

    return lambda n, noise: np.stack([final(one) for one in shown(work, n, noise).astype(np.float64)])


def rclib_series(work: Series) -> Trajectory:
    reservoir = rclib_reservoir(work.reservoir)

    def run(n: int) -> Array:
        reservoir.resetState()
        out = np.empty((n, work.network.n_neurons))
        for t, s in enumerate(work.inputs[:n].astype(np.float64)):
            out[t] = reservoir.advance(s[None])
        return out

    return run


def rclib_reservoir(like: kn.Reservoir) -> Any:
    """Return a network of the same size: it draws its own weights, all inputs to all neurons, and has tanh only."""
    from rclib import ESN
    from rclib.reservoirs import RandomSparse

    model = ESN()
    density = like.connections / like.n_neurons  # what it calls sparsity
    model.add_reservoir(RandomSparse(like.n_neurons, like.spectral_radius, density, like.leak_rate))
    return model.get_reservoir(0)


# --- what they share


def columns(work: Workload, n: int, size: int) -> list[NDArray[np.float32]]:
    """Return what is shown in blocks of episodes, clean: (n_elements, n_channels, episodes)."""
    clean = work.clean(n)
    return [np.ascontiguousarray(clean[k : k + size].transpose(1, 2, 0)) for k in range(0, n, size)]


def shown(work: Workload, n: int, noise: float, first: int = 0, size: int | None = None) -> NDArray[np.float32]:
    """Return the inputs of episodes, with NumPy's noise: (n, n_steps, n_channels)."""
    clean = work.clean(n)[first : None if size is None else first + size].repeat(work.steps, axis=1)
    xi = np.random.default_rng(first).standard_normal(clean.shape, np.float32)
    return clean * (1 + np.float32(noise) * xi)


def warm(run: Callable[[int], Any], n: int) -> Callable[[int], Any]:
    """Compile by running once."""
    run(n)
    return run


OWN = "not the same network (its own weights, tanh); states not compared"
EPISODES = (
    System("Kenyon", "kenyon", kenyon),
    System("SciPy CSR", "scipy", scipy_csr),
    System("PyTorch sparse", "torch", torch_csr),
    System("PyTorch dense", "torch", torch_dense),
    System("JAX scan", "jax", jax_scan),
    System("ReservoirPy", "reservoirpy", reservoirpy, few=32),
    System("ReservoirPy JAX", "reservoirpy", reservoirpy_jax, few=128),
    System("PyRCN", "pyrcn", pyrcn, few=32),
    System("rclib", "rclib", rclib, few=32, other=OWN),
)
SERIES = (
    System("Kenyon", "kenyon", kenyon_series),
    System("SciPy CSR", "scipy", scipy_series),
    System("PyTorch sparse", "torch", torch_series),
    System("JAX scan", "jax", jax_series),
    System("ReservoirPy", "reservoirpy", reservoirpy_series),
    System("ReservoirPy JAX", "reservoirpy", reservoirpy_jax_series),
    System("PyRCN", "pyrcn", pyrcn_series),
    System("rclib", "rclib", rclib_series, other=OWN),
)
UPDATES = (
    System("Kenyon", "kenyon", kenyon_updates),
    System("NumPy", "numpy", numpy_updates),
    System("PyTorch", "torch", torch_updates),
    System("JAX scan", "jax", jax_updates),
    System("ReservoirPy LMS", "reservoirpy", reservoirpy_lms, other="another rule: W alone learns, from V"),
)


# --- who may be timed


class Verdict(NamedTuple):
    """What came of a check; `run` is there if the system may be timed."""

    system: System
    text: str
    run: Callable[..., Any] | None = None


def check(work: Workload | Series | Updates, systems: Iterable[System]) -> list[Verdict]:
    """Prepare systems and compare their noise-free states, or what they learn, with those of the first, Kenyon."""
    verdicts: list[Verdict] = []
    wanted: tuple[Array, ...] = ()
    for system in systems:
        if reason := system.missing():
            verdicts.append(Verdict(system, f"absent ({reason})"))
            continue
        try:
            run = system.prepare(work)
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
    """Return the greatest difference as a share of the greatest value; infinite if shapes differ or a NaN is met."""
    if ours.shape != theirs.shape or not np.isfinite(theirs).all():
        return np.inf
    return float(np.abs(ours - theirs).max() / np.abs(ours).max())


def main() -> None:
    works = [(make(), EPISODES) for make in (workloads.static, workloads.sequences, workloads.large)]
    works += [(workloads.series(2000), SERIES)]
    works += [(workloads.updates(n_classes, 200), UPDATES) for n_classes in workloads.CLASSES]
    for work, systems in works:
        print(f"\n{work.name}")
        for system, text, _ in check(work, systems):
            named = system.name if system.missing() else f"{system.name} {system.version}"
            print(f"  {named:<28}{text}", flush=True)


if __name__ == "__main__":
    main()
