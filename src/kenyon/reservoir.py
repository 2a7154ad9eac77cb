"""A reservoir: a fixed random network of leaky neurons.

    V(t+1) = (1-a) V(t) + a relu[ W_in s(t) + rho W V(t) ],    V(0) = 0 at the start of every episode

Nothing that is learned feeds back into it, so states are simulated once and every learner reads the same stream.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import cached_property, partial
from typing import Any, Literal, NamedTuple, Protocol, Self, overload

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse

from kenyon import _checks, _seeding, connectivity
from kenyon.chunks import chunks, drain, equal_lengths, in_order, padded
from kenyon.kernels import one_episode
from kenyon.kernels.inputs import Episodes, trace, work_space
from kenyon.kernels.lanes import LANES, Rows, Rows8, Rows16, Rows32
from kenyon.kernels.many_episodes import Network, network, simulate
from kenyon.kernels.one_episode import SortedNetwork, simulate_one, sorted_network
from kenyon.tasks import Task
from kenyon.weights import PARTS, checked, digest, own_weights, read_only, scaled, single

STATES_PER_CHUNK = 2**19  # states that a thread computes at a time: 512 episodes of 1000 neurons
EPISODES_PER_CHUNK = 1000  # episodes that learners take at a time
FEW_EPISODES = 2  # up to this number, episodes are faster one by one than in lanes
CHECKED = ("n_neurons", "n_inputs", "leak_rate")  # settings that kernels depend on
INSTEAD = "make another, with Reservoir.from_weights(W_in=..., W=..., leak_rate=...) for weights of your own"
SETTINGS: dict[str, Callable[[str, Any], Any]] = {  # those of a reservoir, and what they may be
    "n_neurons": partial(_checks.integer, low=1, high=2**31),
    "n_inputs": partial(_checks.integer, low=1, high=2**31),
    "leak_rate": partial(_checks.real, low=0.0, high=1.0, open_low=True),
    "spectral_radius": partial(_checks.real, low=0.0, high=_checks.LARGE),
    "connections": partial(_checks.real, low=0.0),
    "input_weights": partial(_checks.one_of, allowed=connectivity.INPUT_FORMS),
    "input_connections": partial(_checks.real, low=1.0),
    "input_gain": partial(_checks.real, low=0.0, high=_checks.LARGE, open_low=True),
}
STATE = {*SETTINGS, "seed", "weights_sha256", "W", "W_in"}  # what a reservoir consists of
DERIVED = {"_network", "_sorted", "_laid_out", "_radius"}  # what is computed from it


class Batch(NamedTuple):
    """Some episodes of a task, in order."""

    states: NDArray[np.float32]  # (n, n_neurons): V at the end of the episode
    labels: NDArray[np.intp]  # (n,): the right class
    items: NDArray[np.intp]  # (n,): the item of the task that was shown

    def part(self, first: int, size: int) -> Batch:
        """Return up to `size` of the episodes, from number `first` on."""
        first, size = _checks.integer("first", first, 0), _checks.integer("size", size, 0)
        chosen = slice(first, first + size)
        return Batch(self.states[chosen], self.labels[chosen], self.items[chosen])


class ReservoirProtocol(Protocol):
    """What `train` needs of a reservoir: any object with this method will do."""

    def stream(
        self, task: Task, n_episodes: int, seed: int = 0, *, batch_size: int = 256, threads: int = 1
    ) -> Iterator[Batch]:
        """Yield `n_episodes` episodes of a task in order, in batches of up to `batch_size`.

        Episodes, and so `task.draw(n_episodes, seed)`, should depend on the seed alone: neither on the batch size nor
        on the number of threads. `task.show(draw)` is what the input channels receive in drawn episodes.
        """


class Reservoir:
    """A reservoir of leaky, rectifying neurons, with random weights; `from_weights` takes your own.

    A reservoir cannot be changed once it is made.

    Parameters
    ----------
    n_neurons
        Number of neurons, N.
    leak_rate
        a in (0, 1]: the share of a neuron's state that is replaced at every step.
    spectral_radius
        rho: the modulus of the largest eigenvalue of the recurrent weights; 0 without connections.
    seed
        Determines all weights.
    n_inputs
        Number of input channels.
    connections
        Mean number of recurrent connections to a neuron, at most N; 0 leaves the neurons unconnected. By default 10,
        or N if there are fewer neurons.
    input_weights
        Form of W_in. "lognormal", the paper's: a neuron has one weight for all of its inputs, and the more inputs, the
        weaker. "fixed_degree": the same number of inputs for all neurons; with 7 of them it is the fly's random claw
        network, since a Kenyon cell has about 7 claws. "uniform": as many inputs as in the lognormal form, each weight
        uniform in (0, 2). "gaussian": all inputs to all neurons, weights standard normal.
    input_connections
        Mean number of input channels that a neuron receives, at most `n_inputs`: a whole number for "fixed_degree", and
        refused for "gaussian". By default 6, at most half of the channels: with more, neurons hardly differ.
    input_gain
        A factor on all input weights.

    Attributes
    ----------
    W, W_in
        The weights, as SciPy sparse arrays of float32 that cannot be edited; rho is in W, the gain in W_in.
    spectral_radius
        Of W. For weights of your own it is computed when it is first asked for.
    weights_sha256
        A digest of weights of your own, which results record; None for random ones. Settings of random weights are None
        for weights of your own.
    """

    n_neurons: int
    n_inputs: int
    leak_rate: float
    connections: float | None = None
    input_weights: str | None = None
    input_connections: float | None = None
    input_gain: float | None = None
    seed: int | None = None
    weights_sha256: str | None = None
    W: sparse.csr_array
    W_in: sparse.csr_array
    _network: Network
    _sorted: SortedNetwork
    _laid_out: dict[str, dict[str, NDArray[Any]]]

    def __init__(
        self,
        n_neurons: int = 1000,
        leak_rate: float = 0.025,
        spectral_radius: float = 0.8,
        seed: int = 0,
        *,
        n_inputs: int = 24,
        connections: float | None = None,
        input_weights: str = "lognormal",
        input_connections: float | None = None,
        input_gain: float = 1.0,
    ) -> None:
        given = {
            "n_neurons": n_neurons, "n_inputs": n_inputs, "leak_rate": leak_rate, "spectral_radius": spectral_radius,
            "connections": connections, "input_weights": input_weights, "input_connections": input_connections,
            "input_gain": input_gain,
        }  # fmt: skip
        own: dict[str, Any] = {**check_settings(given), "seed": _checks.seed(seed)}
        rng, rng_in = (_seeding.generator(own["seed"], "network", part) for part in ("recurrent", "input"))
        W = connectivity.recurrent(own["n_neurons"], own["connections"], own["spectral_radius"], rng)
        W_in = connectivity.inputs(own["input_weights"], own["n_neurons"], own["n_inputs"], input_connections, rng_in)
        if own["connections"] == 0:
            own["spectral_radius"] = 0.0
        self.__setstate__({**own, "W": W, "W_in": np.float32(own["input_gain"]) * W_in})

    @classmethod
    def from_weights(
        cls, *, W_in: Any, W: Any = None, leak_rate: float = 0.025, spectral_radius: float | None = None
    ) -> Self:
        """Make a reservoir with weights of your own, such as a connectome's.

        The weights are copied, so that later edits of yours change nothing.

        Parameters
        ----------
        W_in
            Weights from the inputs to the neurons, shape (n_neurons, n_inputs): an array, a DataFrame or a SciPy sparse
            matrix of any format. Row i holds what neuron i receives.
        W
            Weights between the neurons, shape (n_neurons, n_neurons): W[i, j] is that from neuron j to neuron i. None
            leaves the neurons unconnected.
        leak_rate
            As in `Reservoir`.
        spectral_radius
            Scale W to this spectral radius; by default the weights are taken as they are.
        """
        leak_rate = check_setting("leak_rate", leak_rate)
        W_in, W = own_weights(W_in, W)
        if spectral_radius is not None:
            spectral_radius = check_setting("spectral_radius", spectral_radius)
            W = scaled(W, spectral_radius)
        W, W_in = (single(weights) for weights in (W, W_in))
        n_neurons, n_inputs = W_in.shape
        made = cls.__new__(cls)
        made.__setstate__(
            {
                "n_neurons": n_neurons, "n_inputs": n_inputs, "leak_rate": leak_rate,
                "spectral_radius": spectral_radius, "weights_sha256": digest(W, W_in),
                "W": W, "W_in": W_in,
            }
        )  # fmt: skip
        return made

    def __getstate__(self) -> dict[str, Any]:
        self._check_unedited()
        return {name: value for name, value in vars(self).items() if name not in DERIVED}

    def __setstate__(self, state: dict[str, Any]) -> None:
        """Take settings and weights, from a constructor, a copy or a file, and lay [rho W | W_in] out for the kernels.

        Kernels check nothing, so what they depend on is checked here.
        """
        if type(self) is Reservoir and (unknown := state.keys() - STATE):
            raise ValueError(f"a reservoir has no {', '.join(sorted(unknown))}")
        n_neurons, n_inputs, leak_rate = (check_setting(name, state[name]) for name in CHECKED)
        for name, width in (("W", n_neurons), ("W_in", n_inputs)):
            if state[name].shape != (n_neurons, width):
                raise ValueError(f"{name} must have shape {(n_neurons, width)}, not {state[name].shape}")
            state = {**state, name: read_only(checked(name, state[name]))}
        recorded = state.get("weights_sha256")
        if recorded is not None and recorded != digest(state["W"], state["W_in"]):
            raise ValueError("W and W_in are not those of weights_sha256")
        both = sparse.hstack([state["W"], state["W_in"]], format="csr")
        laid_out = {name: {part: getattr(state[name], part) for part in PARTS} for name in ("W", "W_in")}
        vars(self).update(
            state, _network=network(both, leak_rate), _sorted=sorted_network(both, leak_rate), _laid_out=laid_out
        )

    def __setattr__(self, name: str, value: Any) -> None:
        self._refuse(name, "set")
        super().__setattr__(name, value)

    def __delattr__(self, name: str) -> None:
        self._refuse(name, "deleted")
        super().__delattr__(name)

    def _refuse(self, name: str, what: str) -> None:
        """Refuse to change an attribute, except those that a subclass adds."""
        if type(self) is Reservoir or name in STATE or hasattr(Reservoir, name):
            raise AttributeError(f"{name} cannot be {what}: a reservoir cannot be changed once it is made; {INSTEAD}")

    def _check_unedited(self) -> None:
        """Refuse weights that were edited through SciPy, which can put new arrays in the place of read-only ones."""
        for name, parts in self._laid_out.items():
            now = {part: getattr(vars(self)[name], part) for part in parts}
            if any(now[part] is not laid and not np.array_equal(now[part], laid) for part, laid in parts.items()):
                raise ValueError(f"{name} was edited, but a reservoir cannot be changed once it is made; {INSTEAD}")

    @property
    def spectral_radius(self) -> float:
        """The modulus of the largest eigenvalue of W."""
        known: float | None = vars(self)["spectral_radius"]
        return self._radius if known is None else known

    @cached_property
    def _radius(self) -> float:
        return connectivity.spectral_radius(self.W.astype(np.float64))

    def __repr__(self) -> str:
        known = vars(self)["spectral_radius"]
        radius = "own weights" if known is None else f"spectral radius {known:g}"
        return (
            f"<Reservoir: {self.n_neurons} neurons, {self.n_inputs} inputs, {self.W.nnz} connections, "
            f"leak rate {self.leak_rate:g}, {radius}>"
        )

    @overload
    def run(
        self, inputs: ArrayLike, *, trajectory: Literal[False] = False, threads: int = 1
    ) -> NDArray[np.float32]: ...
    @overload
    def run(
        self, inputs: ArrayLike, *, trajectory: bool, threads: int = 1
    ) -> NDArray[np.float32] | list[NDArray[np.float32]]: ...

    def run(
        self, inputs: Any, *, trajectory: bool = False, threads: int = 1
    ) -> NDArray[np.float32] | list[NDArray[np.float32]]:
        """Run series through the reservoir, each from rest.

        Parameters
        ----------
        inputs
            An array (n, T, n_inputs), or a list of arrays (T_k, n_inputs) whose lengths may differ.
        trajectory
            Return the states after every step instead of those after the last.
        threads
            Number of threads; the result does not depend on it.

        Returns
        -------
        The final states, shape (n, n_neurons). With `trajectory`, (n, T, n_neurons) for an array and a list of
        (T_k, n_neurons) for a list.
        """
        threads, trajectory = _checks.integer("threads", threads, 1), _checks.flag("trajectory", trajectory)
        self._check_unedited()
        if isinstance(inputs, (list, tuple)):
            return self._run_list([self._series(i, values) for i, values in enumerate(inputs)], trajectory, threads)
        series = _checks.numbers("inputs", inputs, f"(n, T, {self.n_inputs})", 3)
        self._check_series("inputs", series.shape[1:])
        out = np.empty((len(series), series.shape[1] if trajectory else 1, self.n_neurons), np.float32)

        def job(chunk: slice) -> None:
            self._simulate(equal_lengths(_checks.single("inputs", series[chunk], chunk.start)), out[chunk])

        drain(in_order(job, chunks(len(series), self._chunk(len(series), threads)), threads))
        return out if trajectory else out[:, 0]

    def stream(
        self, task: Task, n_episodes: int, seed: int = 0, *, batch_size: int = 256, threads: int = 1
    ) -> Iterator[Batch]:
        """Simulate episodes of a task, batch by batch.

        Parameters
        ----------
        task
            What is shown.
        n_episodes
            Number of episodes in all.
        seed
            Determines which items are shown and their noise: episode k of a seed is always the same, to the bit,
            whatever the batch size and the number of threads.
        batch_size
            Episodes per batch; the last batch may be smaller.
        threads
            Number of threads; they simulate a few batches ahead of the reader.
        """
        n_episodes = _checks.integer("n_episodes", n_episodes, 0)
        batch_size = _checks.integer("batch_size", batch_size, 1)
        threads = _checks.integer("threads", threads, 1)
        seed, task = _checks.seed(seed), _checks.instance("task", task, Task)
        if len(task.odours.channels) != self.n_inputs:
            raise ValueError(
                f"task has odours of {len(task.odours.channels)} channels, but reservoir has n_inputs={self.n_inputs}"
            )

        self._check_unedited()
        chunk = self._chunk(n_episodes, threads)

        def pieces() -> Iterator[tuple[int, Batch, slice]]:
            for batches in chunks(n_episodes, batch_size * -(-chunk // batch_size)):  # a number of whole batches
                n = batches.stop - batches.start
                room = np.empty((n, self.n_neurons), np.float32), np.empty(n, np.intp), np.empty(n, np.intp)
                yield from ((batches.start, Batch(*room), part) for part in chunks(n, chunk))

        def job(piece: tuple[int, Batch, slice]) -> Batch | None:
            first, whole, part = piece
            draw = task.draw(part.stop - part.start, seed, first=first + part.start)
            self._simulate(task.episodes(draw), whole.states[part, None])
            whole.labels[part], whole.items[part] = draw.labels, draw.items
            return whole if part.stop == len(whole.items) else None

        done = (whole for whole in in_order(job, pieces(), threads) if whole is not None)
        return (whole.part(first, batch_size) for whole in done for first in range(0, len(whole.items), batch_size))

    def _chunk(self, n_episodes: int, threads: int) -> int:
        """Episodes that a thread takes at a time: enough to fill lanes, few enough for memory and for all threads."""
        most = max(4 * LANES, min(512, STATES_PER_CHUNK // self.n_neurons // LANES * LANES))
        return max(1, min(most, -(-n_episodes // threads)))

    def _simulate(self, episodes: Episodes, out: NDArray[np.float32]) -> None:
        """Call the kernel that suits the number of episodes; raise an error if a state overflows."""
        if len(out) <= FEW_EPISODES:
            inputs = np.empty((len(out), episodes.shown.shape[1] * episodes.steps, self.n_inputs), np.float32)
            trace(episodes, work_space(Rows8, 0, self.n_inputs), inputs)
            room = one_episode.work_space(self._sorted, self.n_inputs)
            finite = all(simulate_one(self._sorted, s, room, V) for s, V in zip(inputs, out, strict=True))
        else:
            work = work_space(_rows(len(out)), self.n_neurons, self.n_inputs)
            finite = simulate(self._network, episodes, work, out)
        if not finite:
            known = vars(self)["spectral_radius"]
            raise ValueError(
                f"the states exceed float32{'' if known is None else f' with spectral_radius={known:g}'}; "
                f"use a smaller spectral_radius, {'a smaller input_gain' if self.input_gain else 'smaller W_in'} or "
                "smaller inputs"
            )

    def _run_list(
        self, series: Sequence[NDArray[np.float32]], trajectory: bool, threads: int
    ) -> NDArray[np.float32] | list[NDArray[np.float32]]:
        """Run series of different lengths, with those of similar length in the same chunk."""
        order = np.argsort([len(values) for values in series], kind="stable")
        final = np.empty((len(series), self.n_neurons), np.float32)
        whole: list[NDArray[np.float32]] = [final] * len(series)

        def job(chunk: slice) -> None:
            members = order[chunk]
            episodes = padded([series[i] for i in members])
            n_steps = episodes.shown.shape[1]
            out = np.empty((len(members), n_steps if trajectory else 1, self.n_neurons), np.float32)
            self._simulate(episodes, out)
            final[members] = out[:, -1]
            if trajectory:
                for i, states in zip(members, out, strict=True):
                    whole[i] = states[n_steps - len(series[i]) :].copy()

        drain(in_order(job, chunks(len(series), self._chunk(len(series), threads)), threads))
        return whole if trajectory else final

    def _series(self, position: int, values: Any) -> NDArray[np.float32]:
        name = f"inputs[{position}]"
        series = _checks.numbers(name, values, f"(T, {self.n_inputs})", 2)
        self._check_series(name, series.shape)
        return _checks.single(name, series)

    def _check_series(self, name: str, shape: tuple[int, ...]) -> None:
        n_steps, width = shape
        if width != self.n_inputs:
            raise ValueError(f"{name} must be {self.n_inputs} channels wide (n_inputs), not {width}")
        if n_steps == 0:
            raise ValueError(f"{name} must have at least one step, not 0")


def stream_chunks(
    reservoir: ReservoirProtocol, task: Task, n_episodes: int, seed: int, threads: int
) -> Iterator[Batch]:
    """Stream episodes from any reservoir as learners take them, refusing one that yields too many or too few."""
    n = 0
    for batch in reservoir.stream(task, n_episodes, seed, batch_size=EPISODES_PER_CHUNK, threads=threads):
        n += len(batch.items)
        if n > n_episodes:
            break
        yield batch
    if n != n_episodes:
        raise ValueError(f"reservoir.stream must yield {n_episodes} episodes, as it was asked to, not {n}")


def check_setting(name: str, value: Any) -> Any:
    """Return a setting of `Reservoir` as a plain number or word, refusing it if it is out of bounds."""
    return SETTINGS[name](name, value)


def check_settings(given: dict[str, Any]) -> dict[str, Any]:
    """Return the settings of a `Reservoir`, defaults included, refusing those that are out of bounds or do nothing."""
    adapting = ("connections", "input_connections")
    own: dict[str, Any] = {name: check_setting(name, given[name]) for name in SETTINGS if name not in adapting}
    own["connections"] = connectivity.mean_connections(given["connections"], own["n_neurons"])
    form, n_inputs = own["input_weights"], own["n_inputs"]
    own["input_connections"] = connectivity.mean_inputs(given["input_connections"], form, n_inputs)
    return own


def check_reservoir(reservoir: Any) -> ReservoirProtocol:
    """Return `reservoir` if it can stream."""
    if isinstance(reservoir, type) or not callable(getattr(reservoir, "stream", None)):
        raise ValueError(f"reservoir must be a Reservoir, or have a method stream, not {_checks.short_repr(reservoir)}")
    return reservoir  # type: ignore[no-any-return]


def _rows(n_episodes: int) -> type[Rows]:
    """Choose the number of lanes, which affects only the time it takes."""
    return Rows8 if n_episodes <= 8 else Rows16 if n_episodes <= 16 else Rows32
