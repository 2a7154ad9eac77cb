"""A reservoir: a fixed random network of leaky neurons.

    V(t+1) = (1-a) V(t) + a f[ W_in s(t) + rho W V(t) + b ],    V(0) = 0 at the start of every episode

with f = relu or tanh and, in most reservoirs, without a bias b. With delays W_in hears the inputs at other steps too.

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
from kenyon.kernels.inputs import Episodes
from kenyon.kernels.many_episodes import Network
from kenyon.kernels.neurons import ACTIVATIONS
from kenyon.kernels.one_episode import SortedNetwork
from kenyon.kernels.pooling import Kept
from kenyon.simulation import FEW_EPISODES, chunk_size, lay_out, run_alone, run_episodes, run_pooled
from kenyon.tasks import Task
from kenyon.timing import Delays, LogUniform, spread
from kenyon.weights import PARTS, checked, digest, own_vector, own_weights, read_only, scaled, single

EPISODES_PER_CHUNK = 1000  # episodes that learners take at a time
INSTEAD = "make another, with Reservoir.from_weights(W_in=..., W=..., leak_rate=...) for weights of your own"
SETTINGS: dict[str, Callable[[str, Any], Any]] = {  # those of a reservoir, and what they may be
    "n_neurons": partial(_checks.integer, low=1, high=2**31),
    "n_inputs": partial(_checks.integer, low=1, high=2**31),
    "leak_rate": lambda name, value: _leak_rate(name, value),
    "spectral_radius": partial(_checks.real, low=0.0, high=_checks.LARGE),
    "connections": partial(_checks.real, low=0.0),
    "input_weights": partial(_checks.one_of, allowed=connectivity.INPUT_FORMS),
    "input_connections": partial(_checks.real, low=1.0),
    "input_gain": partial(_checks.real, low=0.0, high=_checks.LARGE, open_low=True),
    "activation": partial(_checks.one_of, allowed=tuple(ACTIVATIONS)),
    "delays": lambda name, value: None if value is None else _checks.instance(name, value, Delays),
    "bias_scale": partial(_checks.real, low=0.0, high=_checks.LARGE),
}
PLAIN: dict[str, Any] = {"activation": "relu", "delays": None, "bias_scale": 0.0, "bias": None}  # kept only if other
STATE = {*SETTINGS, "leak_range", "seed", "weights_sha256", "W", "W_in", "bias"}  # what a reservoir consists of
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
    """A reservoir of leaky neurons, with random weights; `from_weights` takes your own.

    A reservoir cannot be changed once it is made.

    Parameters
    ----------
    n_neurons
        Number of neurons, N.
    leak_rate
        a in (0, 1]: the share of a neuron's state that is replaced at every step. A number for all neurons; an array
        with one for each; or `LogUniform(low, high)`, from which the seed draws one for each.
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
    activation
        What a neuron makes of the sum of its inputs: "relu" or "tanh".
    delays
        Let neurons hear their inputs at several times: `Delays`, or None. The weight of an input connection is then
        spread over its taps in random proportions.
    bias_scale
        Standard deviation of a constant input to each neuron, drawn from a normal distribution; 0 for none.

    Attributes
    ----------
    W, W_in
        The weights, as SciPy sparse arrays of float32 that cannot be edited; rho is in W, the gain in W_in. With delays
        W_in has shape (n_neurons, n_inputs taps), the taps of a channel one after another.
    leak_range
        What leak rates were drawn from, if they were; `leak_rate` is then an array.
    bias
        The constant input to each neuron, or None.
    spectral_radius
        Of W. For weights of your own it is computed when it is first asked for.
    weights_sha256
        A digest of weights of your own, which results record; None for random ones. Settings of random weights are None
        for weights of your own.
    """

    n_neurons: int
    n_inputs: int
    leak_rate: float | NDArray[np.float32]
    leak_range: LogUniform | None = None
    activation: str = "relu"
    delays: Delays | None = None
    bias_scale: float | None = 0.0
    bias: NDArray[np.float32] | None = None
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
    _laid_out: list[tuple[str, str, NDArray[Any]]]

    def __init__(
        self,
        n_neurons: int = 1000,
        leak_rate: float | LogUniform | ArrayLike = 0.025,
        spectral_radius: float = 0.8,
        seed: int = 0,
        *,
        n_inputs: int = 24,
        connections: float | None = None,
        input_weights: str = "lognormal",
        input_connections: float | None = None,
        input_gain: float = 1.0,
        activation: str = "relu",
        delays: Delays | None = None,
        bias_scale: float = 0.0,
    ) -> None:
        given = {
            "n_neurons": n_neurons, "n_inputs": n_inputs, "leak_rate": leak_rate, "spectral_radius": spectral_radius,
            "connections": connections, "input_weights": input_weights, "input_connections": input_connections,
            "input_gain": input_gain, "activation": activation, "delays": delays, "bias_scale": bias_scale,
        }  # fmt: skip
        own: dict[str, Any] = {**check_settings(given), "seed": _checks.seed(seed)}
        parts = ("recurrent", "input", "taps", "bias")
        rng, rng_in, rng_taps, rng_bias = (_seeding.generator(own["seed"], "network", part) for part in parts)
        W = connectivity.recurrent(own["n_neurons"], own["connections"], own["spectral_radius"], rng)
        W_in = connectivity.inputs(own["input_weights"], own["n_neurons"], own["n_inputs"], input_connections, rng_in)
        if own["connections"] == 0:
            own["spectral_radius"] = 0.0
        if own["delays"] is not None:
            W_in = spread(own["delays"], W_in, rng_taps)
        if own["bias_scale"] > 0:
            own["bias"] = (own["bias_scale"] * rng_bias.standard_normal(own["n_neurons"])).astype(np.float32)
        if isinstance(own["leak_rate"], LogUniform):
            own["leak_range"] = own["leak_rate"]
            own["leak_rate"] = own["leak_range"].draw(own["n_neurons"], own["seed"])
        self.__setstate__({**own, "W": W, "W_in": np.float32(own["input_gain"]) * W_in})

    @classmethod
    def from_weights(
        cls,
        *,
        W_in: Any,
        W: Any = None,
        leak_rate: float | ArrayLike = 0.025,
        spectral_radius: float | None = None,
        activation: str = "relu",
        delays: Delays | None = None,
        bias: ArrayLike | None = None,
    ) -> Self:
        """Make a reservoir with weights of your own, such as a connectome's.

        The weights are copied, so that later edits of yours change nothing.

        Parameters
        ----------
        W_in
            Weights from the inputs to the neurons, shape (n_neurons, n_inputs): an array, a DataFrame or a SciPy sparse
            matrix of any format. Row i holds what neuron i receives. With delays, shape (n_neurons, n_inputs taps):
            column c taps + k is channel c through its tap k, of which the first is the latest.
        W
            Weights between the neurons, shape (n_neurons, n_neurons): W[i, j] is that from neuron j to neuron i. None
            leaves the neurons unconnected.
        leak_rate
            As in `Reservoir`, but not drawn: `LogUniform(low, high).draw(n_neurons)` is.
        spectral_radius
            Scale W to this spectral radius; by default the weights are taken as they are.
        activation, delays
            As in `Reservoir`. Whether delays are balanced makes no difference here: the weights are yours.
        bias
            A constant input to each neuron, shape (n_neurons,).
        """
        W_in, W = own_weights(W_in, W)
        n_neurons, n_columns = W_in.shape
        n_taps = 1 if check_setting("delays", delays) is None or delays is None else delays.taps
        if n_columns % n_taps:
            raise ValueError(f"W_in must have {n_taps} columns for each input, one per tap, not {n_columns} in all")
        if isinstance(check_setting("leak_rate", leak_rate), LogUniform):
            raise ValueError("leak_rate must be a number or an array here; LogUniform(...).draw(n_neurons) makes one")
        if spectral_radius is not None:
            spectral_radius = check_setting("spectral_radius", spectral_radius)
            W = scaled(W, spectral_radius)
        state = {
            "n_neurons": n_neurons, "n_inputs": n_columns // n_taps, "leak_rate": _leaks(leak_rate, n_neurons),
            "spectral_radius": spectral_radius, "activation": check_setting("activation", activation),
            "delays": delays, "bias": None if bias is None else own_vector("bias", bias, n_neurons),
            "W": single(W), "W_in": single(W_in),
        }  # fmt: skip
        made = cls.__new__(cls)
        made.__setstate__({**state, "weights_sha256": _digest(state)})
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
        state = {name: value for name, value in state.items() if not _is_plain(name, value)}
        full = {**PLAIN, **state}
        n_neurons, n_inputs, activation, delays = (
            check_setting(name, full[name]) for name in ("n_neurons", "n_inputs", "activation", "delays")
        )
        own: dict[str, Any] = {"leak_rate": _leaks(state["leak_rate"], n_neurons)}
        if full["bias"] is not None:
            own["bias"] = own_vector("bias", full["bias"], n_neurons)
        for name, width in (("W", n_neurons), ("W_in", n_inputs * (1 if delays is None else delays.taps))):
            if state[name].shape != (n_neurons, width):
                raise ValueError(f"{name} must have shape {(n_neurons, width)}, not {state[name].shape}")
            own[name] = read_only(checked(name, state[name]))
        state.update(own)
        if state.get("weights_sha256") not in (None, _digest(state)):
            raise ValueError("W and W_in are not those of weights_sha256")
        leaks = np.ascontiguousarray(np.broadcast_to(np.float32(own["leak_rate"]), n_neurons))
        networks = lay_out(state["W"], state["W_in"], leaks, activation, delays, own.get("bias"))
        laid_out = [(name, part, getattr(state[name], part)) for name in ("W", "W_in") for part in PARTS]
        vars(self).update(state, _network=networks[0], _sorted=networks[1], _laid_out=laid_out)

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
        for name, part, laid in self._laid_out:
            now = getattr(getattr(self, name), part)
            if now is not laid and not np.array_equal(now, laid):
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
        leak = f"{np.min(self.leak_rate):g}" + ("" if isinstance(self.leak_rate, float) else " or more")
        more = ("" if self.activation == "relu" else f", {self.activation}") + (", delays" if self.delays else "")
        return (
            f"<Reservoir: {self.n_neurons} neurons, {self.n_inputs} inputs, {self.W.nnz} connections, "
            f"leak rate {leak}, {radius}{more}>"
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
        if len(series) <= FEW_EPISODES:
            few = _checks.single("inputs", series)
            for k in range(len(few)):
                self._check_finite(run_alone(self._networks, few[k], out[k]))
            return out if trajectory else out[:, 0]

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

        def pieces() -> Iterator[tuple[Batch, Episodes, slice]]:  # drawn here, while threads are at work
            for batches in chunks(n_episodes, batch_size * -(-chunk // batch_size)):  # a number of whole batches
                draw = task.draw(batches.stop - batches.start, seed, first=batches.start)
                n, episodes = len(draw.items), task.episodes(draw)
                whole = Batch(np.empty((n, self.n_neurons), np.float32), draw.labels, draw.items)
                yield from ((whole, episodes.part(part), part) for part in chunks(n, chunk))

        def job(piece: tuple[Batch, Episodes, slice]) -> Batch | None:
            whole, episodes, part = piece
            self._simulate(episodes, whole.states[part, None])
            return whole if part.stop == len(whole.items) else None

        done = (whole for whole in in_order(job, pieces(), threads) if whole is not None)
        return (whole.part(first, batch_size) for whole in done for first in range(0, len(whole.items), batch_size))

    @property
    def _networks(self) -> tuple[Network, SortedNetwork]:
        return self._network, self._sorted

    def _chunk(self, n_episodes: int, threads: int) -> int:
        return chunk_size(self.n_neurons, n_episodes, threads)

    def _simulate(self, episodes: Episodes, out: NDArray[np.float32]) -> None:
        """Fill `out` with the last states of episodes; raise an error if a state overflows."""
        self._check_finite(run_episodes(self._networks, episodes, out))

    def _pooled(
        self,
        series: NDArray[np.float32] | Sequence[NDArray[np.float32]],
        kept: Kept,
        times: NDArray[np.intp],
        threads: int,
    ) -> NDArray[np.float32]:
        """Return what is kept of series: see `run_pooled`."""
        self._check_unedited()
        out, finite = run_pooled(self._networks, series, kept, times, threads)
        self._check_finite(finite and bool(np.isfinite(out).all()))
        return out

    def _check_finite(self, finite: bool) -> None:
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


def _leak_rate(name: str, value: Any) -> float | LogUniform | NDArray[np.float32]:
    """Return a leak rate: a number, one for each neuron, or a range to draw from."""
    if isinstance(value, LogUniform):
        _checks.real(f"{name}.high", value.high, 0.0, 1.0)
        return value
    has_values = hasattr(value, "__array__") and not isinstance(value, type)
    if not isinstance(value, (list, tuple)) and not (has_values and np.ndim(value)):
        return _checks.real(name, value, 0.0, 1.0, open_low=True)
    rates = _checks.single(name, _checks.numbers(name, value, "(n_neurons,)", 1))
    if not ((rates > 0) & (rates <= 1)).all():
        raise ValueError(f"{name} must be above 0 and at most 1 for all neurons, not {_checks.short_repr(value)}")
    return rates


def _is_plain(name: str, value: Any) -> bool:
    """Tell whether a part of a reservoir is as in most, and so not worth keeping."""
    return name in PLAIN and not isinstance(value, np.ndarray) and bool(value == PLAIN[name])


def _leaks(given: Any, n_neurons: int) -> float | NDArray[np.float32]:
    """Return a checked leak rate as a number, or as an array with one for each neuron."""
    rate = _leak_rate("leak_rate", given)
    if isinstance(rate, LogUniform):
        raise ValueError("leak_rate must be drawn before it is used")
    return rate if isinstance(rate, float) else own_vector("leak_rate", rate, n_neurons)


def _digest(state: dict[str, Any]) -> str:
    """Return the digest of weights of a user's own, and of other numbers that they gave for each neuron."""
    bias, leak_rate = state.get("bias"), state["leak_rate"]
    given = [vector for vector in (bias, leak_rate) if isinstance(vector, np.ndarray)]
    return digest(state["W"], state["W_in"], *given)
