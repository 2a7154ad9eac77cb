"""Learning from rows as they come: no first batch, no copies, and the same core for one row and for many.

Statistics of inputs and states are kept up to date row by row (`kernels/running.py`); units, thresholds and sizes of
steps follow them (`kernels/streams.py`). How rows are cut into calls makes no difference, to the bit. All of it is for
learners of the core without a search; others calibrate on the first rows.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from kenyon import _checks
from kenyon.estimators._encoding import KINDS, RowEncoder, RunningScaling, check_width
from kenyon.estimators._series import Series
from kenyon.estimators._training import SHARE, Targets, Training, Units, endless
from kenyon.kernels.drift import empty_memory, no_memory
from kenyon.kernels.learning import Step, episode_log
from kenyon.kernels.one_episode import plain, simulate_one
from kenyon.kernels.one_row import learn_plain, outputs_row, shown_row, standardised_row
from kenyon.kernels.running import no_moments, no_percentiles
from kenyon.kernels.stream_steps import BY_LARGEST, BY_MEAN, N_COUNTS, Aims, Plan
from kenyon.kernels.streams import COMMON, LARGEST_VALUE, PER_STATE, Following
from kenyon.learning.cooling import TO_THE_END, factors
from kenyon.learning.failures import check_silence
from kenyon.learning.growth import with_outputs
from kenyon.learning.learners import Learner, threshold_share
from kenyon.learning.protocol import Diverged, Source
from kenyon.learning.rules import Regression, Supervised
from kenyon.learning.state import Percentile
from kenyon.readout import ON_OFF
from kenyon.simulation import rows_of_one

FEWEST_ROWS = 3  # of weights: the kernel for two classes rounds otherwise, and a third may come
NO_AIMS = Aims(no_moments(0), np.zeros(0), np.zeros(0))


def streams(learner: Any) -> bool:
    """Tell whether a learner can follow a stream from its first row on."""
    if not isinstance(learner, Learner) or learner.search is not None or learner.scaling is not None:
        return False
    known = not learner.thresholds or isinstance(learner.start, Percentile)
    constant = learner.code != ON_OFF and isinstance(learner.start, (int, float))
    lasting = learner.cooling not in TO_THE_END or learner.horizon is None
    return lasting and isinstance(learner.rule, (Supervised, Regression)) and (known or constant)


def begin(learner: Learner, named: bool, width: int, n_outputs: int, seed: int) -> Training:
    """Return the training of a stream of states of this width, before its first row."""
    regression = isinstance(learner.rule, Regression)
    nothing = np.zeros((1, width), np.float32)
    state = learner.begin(nothing, n_outputs if regression else max(FEWEST_ROWS, n_outputs), Source(seed, "estimator"))
    units = Units(np.zeros(width, np.float32), np.ones(width, np.float32))
    return Training(learner, state._replace(n_outputs=n_outputs), units, named, 0, _nothing_seen(learner, width))


def _nothing_seen(learner: Learner, width: int) -> Following:
    start = learner.start if isinstance(learner.start, Percentile) else None
    q, n = (start.q, width) if start else (50.0, 0)
    starts = np.zeros((2, width), np.float32)
    off = no_percentiles(n if learner.code == ON_OFF else 0, 100.0 - q)
    return Following(np.zeros(N_COUNTS), starts, no_moments(width), no_percentiles(n, q), off, no_memory(width))


def going_on(training: Training, forgetting: float) -> Training:
    """Return a training that goes on as a stream; after a fit in the units and with the steps that were chosen for it.

    If it forgets, it remembers the last rows.
    """
    following, n, n_outputs = training.following, len(training.units.factor), training.state.n_outputs
    if following is None:
        none, starts = no_percentiles(0, 50.0), np.zeros((2, 0), np.float32)
        following = Following(np.zeros(N_COUNTS), starts, no_moments(0), none, none, no_memory(n))
    if forgetting < 1.0 and len(following.memory.told) == 0:
        memory = empty_memory(n, n_outputs if _is_regression(training) else 1, training.state.nets)
        following = following._replace(memory=memory)
    return training._replace(following=following)


def with_classes(training: Training, places: NDArray[np.intp], n_classes: int) -> Training | None:
    """Return a training with so many classes, in which those that it has come to these places; None if it cannot."""
    state, following = with_outputs(training.state, places, n_classes), training.following
    if state is None:
        return None
    if following is not None and len(following.memory.told) > 0:
        memory, W = following.memory, with_outputs(training.past, places, n_classes).nets.W
        told = places[memory.told.astype(np.intp)].astype(np.float64) if len(places) else memory.told
        shares = np.zeros((len(told), W.shape[1]), np.float32)
        shares[:, places] = memory.shares[:, : len(places)]
        following = following._replace(memory=memory._replace(told=told, shares=shares, W=W))
    return training._replace(state=state, following=following)


def _is_regression(training: Training) -> bool:
    return isinstance(getattr(training.learner, "rule", None), Regression)


def plan(training: Training, scaled: bool, forgetting: float) -> Plan:
    """Return what follows; `scaled` states come in units of their own."""
    learner: Any = endless(training.learner) if training.named else training.learner
    following = training.following
    assert following is not None
    if learner.cooling in TO_THE_END:
        factors(learner.cooling, learner.horizon, 0, 1)  # which says what is missing
    follows = following.starts.shape[1] > 0
    units = 0 if scaled else PER_STATE if learner.thresholds else COMMON
    fixed = training.named and learner.step == "fixed"
    share = SHARE if fixed and learner.local else threshold_share(learner, training.state)
    sized = (BY_LARGEST if learner.batch == 1 else BY_MEAN) if fixed else 0
    pace = float(learner.horizon or 0) if learner.cooling == "power" else 0.0
    return Plan(follows, units if follows else 0, len(following.on.heights) > 0, sized, share, forgetting, pace)


def learn(
    training: Training, V: NDArray[np.float32], targets: Targets, aims: Aims, scaled: bool, forgetting: float
) -> tuple[Training, float]:
    """Learn from states in order, in place; return the training, and the sum of correct choices or of costs."""
    learner: Any = training.learner
    state, n = training.state, len(V)
    _check_fit(training, V.shape[1], aims)
    regression = _is_regression(training)
    labels = np.zeros(n, np.intp) if regression else np.asarray(targets, np.intp)
    told = np.asarray(targets, np.float64) if regression else np.zeros((n, 0))
    uniforms = np.zeros((n, 0)) if regression else state.source.uniforms("choice", state.episode, n, 1)
    out, temperatures = episode_log(1, n), learner.rule.temperatures(state.episode, n)
    rows = V, labels, told, uniforms, temperatures, state.episode % learner.batch
    arguments = *_parts(training, aims, scaled, forgetting), *rows, tuple(out)
    taken = learn_plain(*arguments, np.empty((1, V.shape[1]), np.float32))
    check_taken(training, taken, n)
    state = state._replace(episode=state.episode + n)
    loud = np.where(V.any(axis=1), out.norm2[0], np.float32(1))  # where nothing varies yet, nobody is silenced
    state = check_silence(learner, state, V, loud)
    result = out.cost[0] if regression else out.correct[0]
    return training._replace(state=state, seen=training.seen + n), float(result.sum(dtype=np.float64))


def _parts(training: Training, aims: Aims, scaled: bool, forgetting: float) -> tuple[Any, ...]:
    """Return all that learns, follows and remembers, as the kernel takes it."""
    learner: Any = training.learner
    state, following = training.state, training.following
    assert following is not None
    how = plan(training, scaled, forgetting), learner.kernel_step(state), state.nets
    seen = following.moments, following.on, following.off, following.memory
    return (
        *(tuple(part) for part in how), following.counts, following.starts, *(tuple(part) for part in seen),
        training.units.factor, (tuple(aims.moments), aims.shift, aims.scale),
    )  # fmt: skip


def _check_fit(training: Training, width: int, aims: Aims) -> None:
    """Refuse parts of a damaged model, which kernels would read beyond their ends."""
    check_width(width, training.state.n_neurons)
    if _is_regression(training):
        check_width(len(aims.shift), training.state.n_outputs)
        check_width(len(aims.scale), training.state.n_outputs)
        check_width(len(aims.moments.mean) or len(aims.shift), len(aims.shift))


def check_taken(training: Training, taken: int, n: int) -> None:
    """Raise `Diverged` if not all rows were taken."""
    if taken < n:
        episode = training.state.episode + taken
        raise Diverged("the learner", episode, "its cost is no longer finite; use a smaller mu or eta_w")


class Live:
    """All that one row needs, kept between calls: work space, switches and settings as kernels take them."""

    def __init__(self, training: Training, encoder: Any, aims: Aims, scaled: bool, forgetting: float) -> None:
        self.training, self.encoder, self.forgetting = going_on(training, forgetting), encoder, forgetting
        own: Any = training.learner
        self.learner = own
        self.codes: dict[Any, int] = {}  # of the labels
        self.rank = 1  # dimensions of a row, or of a series
        state = self.training.state
        _check_fit(self.training, encoder.width, aims)
        self.V, U = np.zeros((1, encoder.width), np.float32), np.zeros((1, encoder.width), np.float32)
        self.row, self.y = np.zeros((1, len(encoder.scaling.shift))), np.zeros(state.n_outputs)
        self.label, self.told, self.out = np.zeros(1, np.intp), np.zeros((1, len(aims.shift))), episode_log(1, 1)
        step: Step = own.kernel_step(state)
        row = self.V, self.label, self.told, np.zeros((1, 0)), np.ones(1)
        self._learn_from = *_parts(self.training, aims, scaled, forgetting), *row
        self._log_to = tuple(self.out), U
        weights = state.nets.W, state.nets.theta, training.units.factor
        self._read_from = step.thresholds, step.both, step.signed, *weights, self.V, self.y
        self._network: Any = None
        if isinstance(encoder, RowEncoder) and isinstance(encoder.scaling, RunningScaling):
            parts = encoder.both_signs, tuple(encoder.random), encoder.constant
            self._scale_by = tuple(encoder.scaling.moments), self.row, *parts, forgetting
        self.gaps = False  # whether values may be missing

    def encode(self, x: NDArray[np.float64], takes: bool) -> bool:
        """Write the states of one row or series, taking it into the statistics if asked; tell whether it could be."""
        if not isinstance(self.encoder, RowEncoder):
            return self._run(x, takes)
        self.row[0] = x
        if isinstance(self.encoder.scaling, RunningScaling):
            return bool(standardised_row(*self._scale_by, self.gaps, takes, self.V))
        finite = bool((np.abs(self.row) <= LARGEST_VALUE).all())
        if finite:
            self.V[:] = self.encoder.states(Series(self.row), 1)
        return finite

    def _run(self, x: NDArray[np.float64], takes: bool) -> bool:
        """Run a row or a series through the reservoir, from rest."""
        encoder, steps = self.encoder, x[None] if x.ndim == 1 else x
        if not (np.abs(steps) <= LARGEST_VALUE).all():
            return False
        inputs = self._shown(np.ascontiguousarray(steps), takes)
        if self._network is None:
            reservoir = encoder.reservoir
            self._network = plain(reservoir._sorted), rows_of_one(reservoir._networks, reservoir.n_inputs)
        network, n_rows = self._network
        return bool(simulate_one(network, inputs, encoder.n_steps if x.ndim == 1 else 1, n_rows, self.V))

    def _shown(self, steps: NDArray[np.float64], takes: bool) -> NDArray[np.float32]:
        """Return what the channels of the reservoir are shown."""
        scaling = self.encoder.scaling
        if not isinstance(scaling, RunningScaling):
            return np.asarray(self.encoder.inputs(steps))
        inputs = np.empty((len(steps), steps.shape[1] + 1), np.float32)
        statistics = tuple(scaling.moments), tuple(scaling.lows), tuple(scaling.highs)
        how = self.forgetting, takes, _checks.BIG
        if shown_row(KINDS.index(scaling.kind), *statistics, steps, *how, inputs):
            return inputs
        return np.asarray(self.encoder.inputs(steps))  # which says what is wrong

    def learn(self) -> Training:
        """Learn from the states written last, whose label or targets are in `label` or `told`."""
        training = self.training
        state = training.state
        check_taken(training, learn_plain(*self._learn_from, state.episode % self.learner.batch, *self._log_to), 1)
        silent, state = state.silent, state._replace(episode=state.episode + 1, silent=0)
        if self.out.norm2[0, 0] == 0 and self.V.any():
            state = check_silence(self.learner, state._replace(silent=silent), self.V, self.out.norm2[0])
        self.training = training._replace(state=state, seen=training.seen + 1)
        return self.training

    def read(self) -> NDArray[np.float64]:
        """Return the outputs for the states written last."""
        outputs_row(*self._read_from)
        return self.y
