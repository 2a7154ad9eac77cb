"""Series that arrive step by step: a reservoir that is fed, asked and told at any time, for many of them at once."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.exceptions import NotFittedError

from kenyon import _checks
from kenyon.estimators._encoding import RunningScaling
from kenyon.estimators._neurons import readout_outputs
from kenyon.estimators._series import Series, check_series
from kenyon.estimators._streaming import StreamingEstimator
from kenyon.kernels.one_episode import go_on
from kenyon.simulation import room_for_one


@dataclass(eq=False, repr=False)
class StepsPart(StreamingEstimator):
    """Keeps the reservoir's states of series that are under way, by key. They are part of a saved model."""

    n_steps: int = 10

    def feed(self, x: ArrayLike, key: Hashable = None) -> Self:
        """Show the reservoir one more step of a series.

        Parameters
        ----------
        x
            The step, shape (channels,). In a stream it is taken into the running scales of the channels.
        key
            Which series it belongs to; a new key is a series that begins, at rest. Unless `leak_rate` is given, a model
            that is fed before it has learned anything remembers about `n_steps` steps.
        """
        _check_key(key)
        if not self._at_each_step:
            raise ValueError(
                "series cannot be fed step by step with delays, or with a pooling other than 'last', as fit chooses: "
                "these are read at the end. Set pooling='last', or learn whole series with partial_fit"
            )
        steps = self._step(x)
        if not hasattr(self, "_training"):
            self._begin_fed(steps)
        scaling, reservoir = self.encoder_.scaling, self.encoder_.reservoir
        if isinstance(scaling, RunningScaling):
            scaling.take(steps, self.forgetting)
        fed: dict[Hashable, NDArray[np.float32]] = self.__dict__.setdefault("_fed", {})
        V = fed.setdefault(key, np.zeros((1, reservoir.n_neurons), np.float32))
        if V.shape != (1, reservoir.n_neurons) or V.dtype != np.float32:
            raise ValueError("inconsistent model: a series under way has states of other neurons")
        room = self.__dict__.setdefault("_room", room_for_one(reservoir._networks, reservoir.n_inputs))
        if not go_on(reservoir._sorted, self.encoder_.inputs(steps), room, V):
            del fed[key]
            raise ValueError("the states exceed float32; use a smaller spectral_radius")
        return self

    def predict_now(self, key: Hashable = None) -> Any:
        """Return the label, or the number, for a series as far as it has been fed."""
        return self._said(self._outputs_now(key))

    def learn_now(self, y: Any, key: Hashable = None) -> Self:
        """Learn what a series as far as it has been fed stands for.

        Parameters
        ----------
        y
            Its label, or its target; a label that has not been seen before is a new class.
        key
            Which series.
        """
        V = self._fed_states(key)
        if not self._can_follow(self._training.learner):
            raise ValueError(
                f"learner must follow a stream to learn step by step, as 'normalised' does, not "
                f"{_checks.short_repr(self.learner)}"
            )
        live = self._tell(y)
        live.V[:] = V
        self._training = live.learn()
        self.__dict__["_readout"] = None
        return self

    def end(self, key: Hashable = None) -> Self:
        """Forget a series; the next step under its key begins another."""
        self._fed_states(key)
        del self._fed[key]
        return self

    def _fed_states(self, key: Hashable) -> NDArray[np.float32]:
        _check_key(key)
        found: NDArray[np.float32] | None = self.__dict__.get("_fed", {}).get(key)
        if found is None:
            raise ValueError(f"key must be that of a series that was fed, not {_checks.short_repr(key)}")
        return found

    def _outputs_now(self, key: Hashable) -> NDArray[np.float64]:
        V = self._fed_states(key)
        live = self._live_now()
        if live is None:
            return readout_outputs(self.readout_, self._training.units.apply(V))[0]
        if len(live.y) == 0:
            raise NotFittedError(f"this {type(self).__name__} has not been told any class yet: call learn_now first")
        live.V[:] = V
        return live.read()

    def _step(self, x: Any) -> NDArray[np.float64]:
        """Return one step as a series of length one."""
        steps = np.asarray(_checks.array("x", x, "the channels of one step"))
        if steps.ndim != 1:
            raise ValueError(f"x must have shape (channels,), not {steps.shape}")
        if hasattr(self, "_training") and len(steps) != self.n_features_in_:
            raise ValueError(f"x must have as many features as before, {self.n_features_in_}, not {len(steps)}")
        series = check_series(self, steps[None, None], reset=not hasattr(self, "_training"))
        return np.asarray(series.values[0], np.float64)

    def _begin_fed(self, steps: NDArray[np.float64]) -> None:
        """Begin a stream of which nothing is known but its channels."""
        self._check_parameters()
        if not self._follows:
            raise NotFittedError(
                f"fit this {type(self).__name__} first: its learner, {_checks.short_repr(self.learner)}, cannot begin "
                "with a single step, as 'normalised' can"
            )
        check_series(self, steps[None], reset=True)
        memory = np.repeat(steps, self.n_steps, axis=0)  # as nobody knows how long a series will be
        self._begin_stream(Series(memory[None]), np.ones(1), self._begin_targets())


def _check_key(key: Any) -> None:
    try:
        hash(key)
    except TypeError:
        raise ValueError(f"key must be hashable, such as a name or a number, not {_checks.short_repr(key)}") from None
