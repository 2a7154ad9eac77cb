"""Other reservoir libraries, each in the fastest form its interface allows.

Slower forms that were tried are listed with the factor by which they were slower on two cores.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from workloads import Array, Finals, Learning, Network, Series, Trajectory, Updates, Workload

import kenyon as kn

# --- ReservoirPy


def reservoirpy(work: Workload) -> Finals:
    """Episodes from rest, one after another, in double precision with sparse weights, as a list of series.

    One by one, two workers, W_in sparse, single precision: no difference beyond noise; dense W: 10 times
    or more. Its nodes hold one state, so there are no batches.
    """
    node = reservoirpy_node(work.network)

    def run(n: int, noise: float) -> Array:
        node.reset()
        return np.stack([states[-1] for states in node.run(list(work.noisy(n, noise).astype(np.float64)))])

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

    By default it compiles at every call: 24 times as long. W dense: 4 times; as BCSR: 7.
    """
    import jax

    node, size = reservoirpy_jax_node(work.network), 64

    @jax.jit
    def finals(inputs: Any) -> Any:
        node.reset()
        return node.run(inputs)[:, -1]

    def run(n: int, noise: float) -> Array:
        inputs = work.noisy(n, noise)
        return np.concatenate([np.asarray(finals(inputs[k : k + size])) for k in range(0, n, size)])

    run(size, work.noise)  # compiles
    return run


def reservoirpy_jax_series(work: Series) -> Trajectory:
    import jax

    node = reservoirpy_jax_node(work.network)

    @jax.jit
    def states(inputs: Any) -> Any:
        node.reset()
        return node.run(inputs)

    def run(n: int) -> Array:
        return np.asarray(states(work.inputs[:n]))

    run(len(work.inputs))  # compiles
    return run


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
    """Its blocks, sparse, one episode after another; in its batches in PyTorch a step is two dense N x N products."""
    transform = pyrcn_blocks(work.network)
    return lambda n, noise: np.stack([transform(series)[-1] for series in work.noisy(n, noise)])


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

    return lambda n, noise: np.stack([final(series) for series in work.noisy(n, noise).astype(np.float64)])


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
