"""Forecasts: a reservoir learns the next step of a series, and then runs on from its own outputs."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import KW_ONLY, dataclass
from typing import TYPE_CHECKING, Any, NamedTuple, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils.validation import check_is_fitted

from kenyon import _checks, _seeding
from kenyon.estimators._base import TARGET
from kenyon.estimators._displays import ForecastDisplay
from kenyon.estimators._encoding import check_width
from kenyon.estimators._every_step import EveryStep
from kenyon.estimators._reading import scaled
from kenyon.estimators._series import Series, check_sequences
from kenyon.estimators._training import Targets
from kenyon.kernels.every_step import Reading
from kenyon.simulation import run_freely

if TYPE_CHECKING:
    from matplotlib.axes import Axes

Arrays = list[NDArray[np.float64]]


class Pasts(NamedTuple):
    """Where free runs begin."""

    V: NDArray[np.float32]  # (n, n_neurons): states that have heard all but the last step
    last: NDArray[np.float64]  # (n, n_channels): that step
    form: str  # of what they came from: "one", "flat" (one without a dimension for channels), "stack" or "list"

    def check(self) -> None:
        """Refuse arrays of a damaged file."""
        if self.V.ndim != 2 or self.V.dtype != np.float32 or self.last.ndim != 2 or len(self.last) != len(self.V):
            raise ValueError("inconsistent pasts")


@dataclass(eq=False, repr=False)
class Forecaster(EveryStep):
    """Forecast series with a reservoir that learns the next step and then runs freely, its output fed back as input.

    Parameters are those of `SequenceRegressor`, and one more. So are the attributes `theta_` and `reservoir_`.

    Parameters
    ----------
    noise
        Standard deviation of normal noise on the inputs while learning, as a share of that of each channel: it teaches
        the readout to return from small errors, which keeps free runs stable. It is drawn by `random_state`; forecasts
        begin from states without noise.
    """

    _: KW_ONLY
    noise: float = 1e-3

    @property
    def _n_outputs(self) -> int:
        return int(self.n_features_in_)

    def fit(
        self,
        X: ArrayLike | Sequence[ArrayLike],
        y: object = None,
        *,
        exogenous: ArrayLike | Sequence[ArrayLike] | None = None,
    ) -> Self:
        """Learn to predict the next step.

        Parameters
        ----------
        X
            One series, shape (T,) or (T, channels); or several, an array (n, T, channels) or a list of (T_k, channels).
        y
            Ignored.
        exogenous
            Inputs that are known ahead, such as the hour of the day: for every step of X, in the form of X. Step t + 1
            is predicted from X up to t and from these up to t + 1.
        """
        self._check_parameters()
        noise = _checks.real("noise", self.noise, 0.0, _checks.LARGE)
        series, self._form = self._read("X", X, reset=True)
        known = self._known("exogenous", exogenous, [len(values) for values in series], None)
        self._n_known = known[0].shape[1]
        if min(map(len, series)) < 2:
            raise ValueError(
                "X must have at least two steps in every series, one to learn from and one to predict, not n_samples=1"
            )
        shown = _paired(series, known)
        self._make_encoder(Series(shown), self._new_seed())
        rng, spread = _seeding.generator(self._seed, "forecaster", "noise"), noise * self._unit()
        noisy = [values + _noise(rng, values.shape, spread) for values in shown] if noise else shown
        self._learn_all(noisy, [values[1:] for values in series], "X")
        self._reading()
        self._pasts = self._driven(series, known, self._form)
        return self

    def forecast(
        self,
        horizon: int,
        history: ArrayLike | Sequence[ArrayLike] | None = None,
        *,
        exogenous: ArrayLike | Sequence[ArrayLike] | None = None,
    ) -> NDArray[np.float64]:
        """Run on freely for so many steps.

        Parameters
        ----------
        horizon
            How many steps to forecast.
        history
            What to go on from: one series, or several, in any form that `fit` takes. By default, from the end of each
            series that was fitted.
        exogenous
            Inputs that are known ahead, if there were any in `fit`: for each of the steps to come; with a history, for
            the steps of the history and then for those to come.

        Returns
        -------
        Shape (horizon, channels), without the channels if the series has none; (n, horizon, channels) for several.
        """
        check_is_fitted(self)
        horizon = _checks.integer("horizon", horizon, 1, 2**31 - 1)
        pasts: Pasts = self._pasts
        if history is None:
            ahead = self._known("exogenous", exogenous, [horizon] * len(pasts.V), pasts.form)
        else:
            series, form = self._read("history", history, reset=False)
            known = self._known("exogenous", exogenous, [len(values) + horizon for values in series], form)
            pasts, ahead = self._driven(series, known, form), [values[-horizon:] for values in known]
        return self._run_on(pasts, ahead, horizon)

    def plot_forecast(
        self,
        horizon: int,
        truth: ArrayLike | None = None,
        *,
        history: ArrayLike | None = None,
        exogenous: ArrayLike | None = None,
        ax: Axes | None = None,
    ) -> ForecastDisplay:
        """Plot the forecast of one series.

        Parameters
        ----------
        horizon, history, exogenous
            As in `forecast`.
        truth
            What came, to be drawn behind; None if nobody knows yet.
        ax
            Axes to draw on; by default new ones.
        """
        return ForecastDisplay.from_estimator(self, horizon, truth, history=history, exogenous=exogenous, ax=ax)

    def _run_on(self, pasts: Pasts, ahead: Arrays, horizon: int) -> NDArray[np.float64]:
        scaling, n = self.encoder_.scaling, self._n_outputs
        check_width(pasts.V.shape[1], self.reservoir_.n_neurons)
        known = np.stack([scaling.apply(np.hstack([np.zeros((horizon, n)), values]))[:, n:] for values in ahead])
        start = scaling.apply(np.hstack([pasts.last, np.zeros((len(pasts.last), self._n_known))]))[:, :n]
        networks = self.reservoir_._networks
        out, done = run_freely(networks, self._fed_back(), pasts.V, start, known, self._threads())
        if done < horizon:
            raise ValueError(
                f"horizon={horizon} is too far: the free run leaves float32 after {done} steps; use more noise while "
                "fitting, a larger penalty or a smaller spectral_radius"
            )
        y = out * self._unit()[:n] + scaling.shift[:n]
        if pasts.form in ("one", "flat"):
            y = y[0]
        return y[:, 0] if pasts.form == "flat" else y

    def _unit(self) -> NDArray[np.float64]:
        """Return what 1 stands for in each input channel; 0 where nothing varies."""
        factor = self.encoder_.scaling.factor
        return np.divide(1.0, factor, out=np.zeros_like(factor), where=factor > 0)

    def _fed_back(self) -> Reading:
        """Return the readout of the next inputs, as the reservoir is shown them."""
        n = self._n_outputs
        return scaled(self._reading(), np.full(n, 1.0 / TARGET), np.zeros(n))

    def _learned(self, targets: Targets) -> Targets:
        scaling, n = self.encoder_.scaling, self._n_outputs
        z = (targets.astype(np.float64) - scaling.shift[:n]) * scaling.factor[:n]
        return np.asarray(z * TARGET, np.float32)

    def _read(self, name: str, X: Any, *, reset: bool) -> tuple[Arrays, str]:
        """Return series, each of shape (T, channels), and the form in which they came."""
        flat = not _is_several(X) and _checks.array(name, X, "a series, or several").ndim == 1
        with _called(name):
            series = check_sequences(self, np.asarray(X)[:, None] if flat else X, reset=reset)
        if series.static:
            return [np.asarray(series.values, np.float64)], "flat" if flat else "one"
        form = "list" if isinstance(series.values, list) else "stack"
        return [np.asarray(values, np.float64) for values in series.values], form

    def _known(self, name: str, given: Any, lengths: list[int], form: str | None) -> Arrays:
        """Return inputs that are known ahead for so many steps of each series; `form` is None while fitting."""
        expected = None if form is None else self._n_known
        if given is None and not expected:
            return [np.zeros((length, 0)) for length in lengths]
        if given is None or expected == 0:
            raise ValueError(f"{name} must be given to forecast if and only if it was given to fit")
        if not _is_several(given):
            given = _checks.array(name, given, "an array with a row for each step")
            given = given if given.ndim == 3 else given[None]
        parts = list(given.values() if isinstance(given, dict) else given)
        if len(parts) != len(lengths):
            raise ValueError(f"{name} must be given for each of {len(lengths)} series, not for {len(parts)}")
        found = [_columns(f"{name}[{k}]" if len(parts) > 1 else name, part) for k, part in enumerate(parts)]
        for part, length in zip(found, lengths, strict=True):
            width = found[0].shape[1] if expected is None else expected
            if part.shape != (length, width):
                raise ValueError(f"{name} must have shape ({length}, {width}), a row for each step, not {part.shape}")
        return found

    def _driven(self, series: Arrays, known: Arrays, form: str) -> Pasts:
        """Return where free runs begin after these series, each from rest."""
        V = np.zeros((len(series), self.reservoir_.n_neurons), np.float32)
        long = [k for k, values in enumerate(series) if len(values) > 1]
        if long:
            shown = _paired([series[k] for k in long], [known[k] for k in long])
            inputs = [self.encoder_.scaling.apply(values) for values in shown]
            V[long] = self.reservoir_.run(inputs, threads=self._threads())
        # the last step is heard together with what is known of the next one, when the run begins
        return Pasts(V, np.stack([values[-1] for values in series]), form)


def _paired(series: Arrays, known: Arrays) -> Arrays:
    """Return each step but the last, with what is known of the one after it."""
    return [np.hstack([x[:-1], e[1 : len(x)]]) for x, e in zip(series, known, strict=True)]


def _noise(rng: np.random.Generator, shape: tuple[int, ...], spread: NDArray[np.float64]) -> NDArray[np.float64]:
    return rng.standard_normal(shape) * spread


def _is_several(X: Any) -> bool:
    """Tell whether X is a list, dict or object array of arrays, and not of numbers."""
    if isinstance(X, dict):
        return True
    holds = isinstance(X, (list, tuple)) or (isinstance(X, np.ndarray) and X.dtype == object and X.ndim == 1)
    return holds and len(X) > 0 and np.ndim(X[0]) == 2


def _columns(name: str, values: Any) -> NDArray[np.float64]:
    """Return numbers known ahead, shape (T, n)."""
    found = _checks.array(name, values, "an array with a row for each step")
    found = _checks.numbers(name, found[:, None] if found.ndim == 1 else found, "(T, n)", 2)
    return _checks.single(name, found).astype(np.float64)


@contextmanager
def _called(name: str) -> Iterator[None]:
    """Let errors about X name the argument that it came from."""
    try:
        yield
    except ValueError as error:
        raise type(error)(re.sub(r"\bX\b", name, str(error))) from None
