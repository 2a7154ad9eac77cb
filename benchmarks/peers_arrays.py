"""Kenyon, and its equations in NumPy, SciPy, PyTorch and JAX, each in the fastest form found.

Slower forms that were tried are listed with the factor by which they were slower on two cores.
"""

from __future__ import annotations

import warnings
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from workloads import THREADS, Array, Finals, Learning, Refused, Series, Trajectory, Updates, Workload

import kenyon as kn

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
        # All start from 0, so no states are needed to calibrate on: one is enough, and updates are what is timed.
        state = learner.begin(work.V[:1], work.n_classes, kn.Source(0, "benchmark"))
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
        blocks = work.blocks(n, size)
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
    """In single precision and in place; the fastest of four ways tried."""
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

    return lambda n, noise: np.concatenate([block(torch.from_numpy(c), noise) for c in work.blocks(n, size)])


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
        warnings.simplefilter("ignore")  # about sparse tensors being new
        indices = (torch.from_numpy(part.astype(np.int32)) for part in (weights.indptr, weights.indices))
        return torch.sparse_csr_tensor(*indices, torch.from_numpy(weights.data), weights.shape)


# --- JAX


def jax_scan(work: Workload) -> Finals:
    """`lax.scan` over steps with [W | W_in] as BCSR, blocks of 256 on two threads, random numbers by "rbg".

    Blocks of 128 and 512: 0.8 to 1.3 and 1.1 to 1.2 times as long; on one thread: 1.5 to 2; Threefry: 1.2. Rows
    gathered and added up column by column: 1.1; the same with rows sorted by length and cut into 8 to 32 slices: 0.7
    to 1.2. Dense: 5 times; segment sums: 6; BCOO: 6 to 9.
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
        blocks = work.blocks(n, size)
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

    def run(n: int) -> Array:
        return np.asarray(scan(work.inputs[:n]))

    run(len(work.inputs))  # compiles
    return run


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

    run(len(work.V))  # compiles
    return run
