"""Ridge regression in closed form, from sums that grow with the episodes.

    W = C (G + lambda)^-1,    G = sum x x^T,    C = sum y_true x^T

x is V, or relu(V - theta) with fixed thresholds; with an intercept, x and y_true are centred first. If no penalty is
given, lambda is the one that minimises the generalised cross-validation score (Golub, Heath & Wahba 1979),
RSS / (n - tr H)^2, which follows from the same sums; an intercept takes one more degree of freedom from n.

While there are fewer episodes than features, a ridge with an intercept keeps the episodes themselves and solves in dual
form, X the matrix of centred x, each row times the square root of its weight:

    W = (X^T (X X^T + lambda)^-1 Y)^T

which is the same W from the same lambda, at the cost of the number of episodes cubed instead of that of features. If no
penalty is given, lambda is then the one with the least error on episodes left out in turn, which follows from the same
eigenvalues: with the episodes at hand there is no need to average over their leverages, as the generalised score does.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import linalg
from scipy.linalg import lapack
from threadpoolctl import threadpool_limits

from kenyon import _checks
from kenyon.chunks import chunks
from kenyon.learning.protocol import Info, Source
from kenyon.learning.rules import QLearning, Regression, Supervised
from kenyon.learning.state import Percentile, fixed_start, initial_thresholds, opposite_thresholds, sized
from kenyon.readout import CODES, ON_OFF, Readout, encoded

COLUMNS = 1024  # features that are in double precision at a time
Array = NDArray[np.float64]


class Candidates(NamedTuple):
    """Penalties to choose from by cross-validation, as shares of the sum of all squares.

    In the generalised score tr H counts `caution` times: above 1 it does not mistake noise for a pattern where there
    are hardly more episodes than features (Kim & Gu 2004).
    """

    penalties: Array
    caution: float = 1.0


CANDIDATES = Candidates(np.logspace(-9, 0, 37))


class RidgeRows(NamedTuple):
    """Episodes of one update."""

    x: NDArray[np.float32]  # (n, N)
    Y: Array  # (n, n_outputs)
    weights: Array | None  # (n,); None: 1 for all

    @property
    def w(self) -> Array:
        """The weights as numbers."""
        return np.ones(len(self.x)) if self.weights is None else self.weights


class RidgeState(NamedTuple):
    """Thresholds, weighted sums over episodes, and episodes that are not in the sums yet."""

    theta: NDArray[np.float32] | None  # None: V itself is read
    n: float  # number of episodes, or their total weight
    x: Array  # (N,)
    wanted: Array  # (n_outputs,)
    gram: Array  # (N, N): sum of x x^T; (0, 0) before the first
    cross: Array  # (N, n_outputs): sum of x y_true^T
    square: float  # sum of |y_true|^2
    rows: tuple[RidgeRows, ...] = ()

    def check(self) -> None:
        """Refuse sums that do not fit together, as those of a file may not: LAPACK would only print a remark."""
        n, n_outputs = len(self.x), len(self.wanted)
        fits = [self.x.shape == (n,), self.wanted.shape == (n_outputs,), self.cross.shape == (n, n_outputs)]
        fits += [self.gram.shape in ((0, 0), (n, n)), self.theta is None or self.theta.shape == (n,)]
        fits += [part.x.shape == (len(part.Y), n) and part.Y.shape[1:] == (n_outputs,) for part in self.rows]
        if not all(fits):
            raise ValueError("inconsistent sums of a ridge regression")


@dataclass(frozen=True, kw_only=True)
class Ridge:
    """Ridge regression on V, or on x with fixed thresholds: the offline ceiling of a linear readout of either.

    Parameters
    ----------
    penalty
        lambda, as a share of the sum of all squared states: 0 is plain least squares; None chooses it by generalised
        cross-validation.
    start
        Read x = relu(V - theta) with thresholds fixed at this number or `Percentile`; None reads V.
    code
        With a start: "on", x as above, the default; or "on_off", each neuron twice, or "signed", as in `Learner`.
    intercept
        Fit a constant output as well. Estimators always do.
    rule
        What it learns from: `Supervised()`, the right class, or `Regression()`, real numbers.
    """

    penalty: float | None = 1e-10
    start: float | Percentile | None = None
    intercept: bool = False
    rule: Supervised | Regression = Supervised()  # noqa: RUF009 (frozen, and so safe to share)
    code: str | None = None

    closed_form: ClassVar[bool] = True  # one pass over the episodes is enough, and `update` takes their weights

    def __post_init__(self) -> None:
        _checks.set_fields(self, intercept=_checks.flag("intercept", self.intercept))
        if self.penalty is not None:
            _checks.set_fields(self, penalty=_checks.real("penalty", self.penalty, 0.0, _checks.LARGE))
        if self.start is not None and not isinstance(self.start, Percentile):
            _checks.set_fields(self, start=fixed_start(self.start, "a Percentile(q) or None"))
        if self.code is not None and self.start is None:
            raise ValueError(f"code = {self.code!r} would do nothing here: code belongs to a start")
        if self.start is not None:
            _checks.set_fields(self, code=_checks.one_of("code", self.code or CODES[0], CODES))
        check_rule(self.rule)

    @property
    def thresholds(self) -> bool:
        """Whether it reads x = relu(V - theta)."""
        return self.start is not None

    def begin(self, V: NDArray[np.float32], n_classes: int, source: Source) -> RidgeState:
        """Return the thresholds and empty sums."""
        V, n_outputs = _checks.calibration(V), check_outputs(self.rule, n_classes)
        theta = None if self.start is None else initial_thresholds(self.start, sized(V, self.code))
        if theta is not None and self.code == ON_OFF:
            theta = np.concatenate([theta, opposite_thresholds(self.start, V)])
        n = V.shape[1] if theta is None else len(theta)
        return RidgeState(theta, 0.0, np.zeros(n), np.zeros(n_outputs), np.zeros((0, 0)), np.zeros((n, n_outputs)), 0.0)

    def update(
        self, state: RidgeState, V: NDArray[np.float32], labels: NDArray[np.generic], weights: Array | None = None
    ) -> tuple[RidgeState, Info]:
        """Take episodes. Nothing is chosen while learning, so `correct` and `cost` are NaN."""
        state = _checks.instance("state", state, RidgeState)
        n_features, n_outputs = state.cross.shape
        V = _checks.single("states", _checks.states(V, n_features // (2 if self.code == ON_OFF else 1)))
        x = V if state.theta is None else encoded(V, state.theta, self.code or CODES[0])
        Y = wanted_outputs(self.rule, labels, len(x), n_outputs)
        rows = (*state.rows, RidgeRows(x, Y, None if weights is None else _check_weights(weights, len(x))))
        state = state._replace(rows=rows)
        if not self.intercept or len(state.gram) or sum(len(part.x) for part in rows) >= n_features:
            state = _summed(state)
        unknown = np.full(len(x), np.nan, np.float32)
        return state, Info(unknown, unknown)

    def readout(self, state: RidgeState) -> Readout:
        """Solve for the weights, and for the intercept if there is one."""
        W, bias = solution(self, state)
        held = np.zeros(len(W), np.float32) if state.theta is None else state.theta
        temperature = float(self.rule.temperatures(int(_total(state)), 1)[0])
        weights = _checks.single("weights", W.T)
        code = self.code or CODES[0]
        thresholds = state.theta is not None
        return Readout(weights, held, thresholds=thresholds, temperature=temperature, bias=bias, code=code)


def solution(ridge: Ridge, state: RidgeState, candidates: Candidates = CANDIDATES) -> tuple[Array, Array | None]:
    """Return weights (N, n_outputs) and the intercept, if there is one, in double precision."""
    state = _checks.instance("state", state, RidgeState)
    return _dual(state, ridge.penalty, candidates) if state.rows else _primal(ridge, state, candidates)


def _primal(ridge: Ridge, state: RidgeState, candidates: Candidates) -> tuple[Array, Array | None]:
    """Return W^T and the intercept from the sums."""
    _, n, sum_x, sum_wanted, gram, cross, square, _ = state
    mean, mean_y = np.zeros_like(sum_x), np.zeros_like(sum_wanted)
    if ridge.intercept and n:
        mean, mean_y = sum_x / n, sum_wanted / n
        gram, cross = gram - n * np.outer(mean, mean), cross - n * np.outer(mean, mean_y)
        square = max(0.0, square - n * float(mean_y @ mean_y))
    if not n:
        W = cross
    elif ridge.penalty is not None and not ridge.intercept:
        W = _solve(gram, cross, ridge.penalty)
    else:  # centred sums may be singular
        W = _solve_for_any(gram, cross, ridge.penalty, square, n - ridge.intercept, candidates)
    return W, mean_y - mean @ W if ridge.intercept else None


def _summed(state: RidgeState) -> RidgeState:
    """Return the state with all of its episodes in the sums."""
    theta, n, sum_x, sum_wanted, gram, cross, square, rows = state
    gram = gram if len(gram) else np.zeros((len(sum_x), len(sum_x)))
    for part in rows:
        x, w = part.x.astype(np.float64), part.w
        new_gram, new_cross = _products(x, part.Y, part.weights)
        n, sum_x, sum_wanted = n + float(w.sum()), sum_x + w @ x, sum_wanted + w @ part.Y
        new_gram += gram  # in place, since it is large
        gram, cross, square = new_gram, cross + new_cross, square + float(w @ (part.Y**2).sum(axis=1))
    return RidgeState(theta, n, sum_x, sum_wanted, gram, cross, square)


def _total(state: RidgeState) -> float:
    """Return the total weight of all episodes."""
    return state.n + sum(float(part.w.sum()) for part in state.rows)


def check_rule(rule: object) -> None:
    """Refuse rules that least squares cannot follow."""
    if not isinstance(rule, (Supervised, Regression)):
        raise ValueError(f"rule must be Supervised() or Regression(), not {_checks.short_repr(rule)}")


def check_outputs(rule: Supervised | Regression | QLearning, n_classes: int) -> int:
    """Return the number of outputs: at least two classes, or one real number."""
    return _checks.integer("n_classes", n_classes, 1 if isinstance(rule, Regression) else 2)


def wanted_outputs(
    rule: Supervised | Regression | QLearning, labels: NDArray[np.generic], n: int, n_outputs: int
) -> NDArray[np.float64]:
    """Return y_true for classes (n,) or targets (n, n_outputs), shape (n, n_outputs)."""
    if isinstance(rule, Regression):
        return _checks.targets(labels, n, n_outputs).astype(np.float64)
    return np.asarray(rule.target * (_checks.labels(labels, n, n_outputs)[:, None] == np.arange(n_outputs)))


def _check_weights(weights: Array, n: int) -> Array:
    found = _checks.numbers("weights", weights, f"({n},)", 1).astype(np.float64)
    if len(found) != n or not ((found >= 0) & (found <= _checks.LARGE)).all():
        raise ValueError(f"weights must be {n} numbers from 0 to {_checks.LARGE:g}, not {_checks.short_repr(weights)}")
    return found


def _products(x: Array, Y: Array, weights: Array | None) -> tuple[Array, Array]:
    """Return the sums of x x^T and x y_true^T.

    Both products are written so that their last bits stay the same: BLAS adds up X^T X, where both factors are one
    array, and a product and its transpose in orders of their own.
    """
    if weights is None:
        return x.T @ x, (Y.T @ x).T
    weighted = x * weights[:, None]
    return weighted.T @ x, weighted.T @ Y


def _solve(gram: Array, cross: Array, penalty: float) -> Array:
    """Return W^T, shape (N, n_outputs), by Cholesky decomposition."""
    lam = penalty * max(np.trace(gram), np.finfo(float).tiny)
    gram = gram + lam * np.eye(len(gram))
    with warnings.catch_warnings():
        warnings.simplefilter("error", linalg.LinAlgWarning)
        try:
            return np.asarray(linalg.solve(gram, cross, assume_a="pos"))
        except (linalg.LinAlgError, linalg.LinAlgWarning):  # some neurons depend on others: the smallest weights
            return np.asarray(linalg.lstsq(gram, cross)[0])


def _solve_for_any(
    gram: Array, cross: Array, penalty: float | None, square: float, n: float, candidates: Candidates
) -> Array:
    """Return W^T, shape (N, n_outputs), with a penalty that is chosen or small.

    G = Q T Q^T, T tridiagonal, serves all penalties: each is then a matter of N steps, and eigenvectors, which would
    take three times as long, are not needed. BLAS is kept to one thread, so that bits do not depend on their number.
    """
    n_features = len(gram)
    if n_features == 1:  # LAPACK wants two
        gram, cross = np.pad(gram, (0, 1)), np.pad(cross, ((0, 1), (0, 0)))
    with threadpool_limits(1, "blas"):
        T = _Tridiagonal(gram)
        C = T.turned(cross, back=False)
        if penalty is None:
            scores = [
                _cross_validation(T, C, square, n, _share(T.values, q), candidates.caution)
                for q in candidates.penalties
            ]
            penalty = float(candidates.penalties[int(np.argmin(scores))])
        return T.turned(T.solved(C, _share(T.values, penalty)), back=True)[:n_features]


class _Tridiagonal:
    """A symmetric matrix without negative eigenvalues as Q T Q^T."""

    def __init__(self, matrix: Array) -> None:
        lwork = int(lapack.dsytrd_lwork(len(matrix), lower=1)[0])
        packed, diagonal, beside, self.tau, _ = lapack.dsytrd(matrix, lower=1, lwork=lwork)
        self.reflectors = np.asfortranarray(packed[1:, :-1])
        self.bands = np.array([diagonal, np.append(beside, 0.0)])
        values = linalg.eigvalsh_tridiagonal(diagonal, beside)
        self.below = max(0.0, -float(values.min()))  # by rounding errors
        self.values = np.maximum(values, 0.0)

    def turned(self, columns: Array, *, back: bool) -> Array:
        """Return Q^T times columns, or with `back` Q times columns."""
        apply = partial(lapack.dormqr, "L", "N" if back else "T", self.reflectors, self.tau, columns[1:])
        turned = apply(int(apply(-1)[1][0]))[0]
        return np.concatenate([columns[:1], turned])  # Q leaves the first as it is

    def solved(self, columns: Array, lam: float) -> Array:
        """Return (T + lam)^-1 times columns."""
        bands = self.bands + np.array([[lam + self.below], [0.0]])
        return np.asarray(linalg.solveh_banded(bands, columns, lower=True))


def _dual(state: RidgeState, penalty: float | None, candidates: Candidates) -> tuple[Array, Array]:
    """Return W^T and the intercept from episodes, fewer than there are features.

    Features are centred a few at a time, in one piece of memory: fresh memory would take longer than the sums.
    """
    x, Y, w = (_joined(parts) for parts in zip(*((part.x, part.Y, part.w) for part in state.rows), strict=True))
    n, root, n_features = float(w.sum()), np.sqrt(w)[:, None], x.shape[1]
    with threadpool_limits(1, "blas"):
        pieces = list(chunks(n_features, COLUMNS))
        shares = w / max(n, np.finfo(float).tiny)
        mean, mean_y = np.concatenate([shares @ x[:, piece] for piece in pieces]), shares @ Y
        room = np.empty(len(x) * min(COLUMNS, n_features))

        def centred(piece: slice) -> Array:
            part = room[: len(x) * (piece.stop - piece.start)].reshape(len(x), -1)
            np.subtract(x[:, piece], mean[piece], out=part)
            part *= root
            return part

        gram, product = np.zeros((2, len(x), len(x)))
        for piece in pieces:
            part = centred(piece)
            gram += np.matmul(part, part.T, out=product)
        d, U = linalg.eigh(gram, overwrite_a=True)
        d, C = np.maximum(d, 0.0), U.T @ (root * (Y - mean_y))
        lam = _share(d, _leave_one_out(d, U, C, shares, candidates.penalties) if penalty is None else penalty)
        found = U @ (C / (d + lam)[:, None])
        W = np.concatenate([centred(piece).T @ found for piece in pieces])
        return W, mean_y - mean @ W


def _joined(parts: Sequence[NDArray[Any]]) -> NDArray[Any]:
    """Return arrays one after another; a single one as it is, since it may be large."""
    return parts[0] if len(parts) == 1 else np.concatenate(parts)


def _share(d: Array, penalty: float) -> float:
    """Return lambda for eigenvalues d, at least as large as rounding errors."""
    return max(penalty, float(np.finfo(float).eps)) * max(float(d.sum()), np.finfo(float).tiny)


def _leave_one_out(d: Array, U: Array, C: Array, shares: Array, penalties: Array) -> float:
    """Return the penalty with the least squared error on episodes that are left out in turn, each with all its weight.

    The error of an episode that is left out is its residual divided by 1 - h, h its leverage, the intercept's included.
    """
    return float(penalties[int(np.argmin(_squared_errors(d, U, C, shares, penalties).sum(axis=0)))])


def left_out(x: NDArray[np.floating], Y: Array, candidates: Candidates = CANDIDATES) -> Array:
    """Return the squared error on each episode if it is left out, shape (n,), with the penalty that is best for all.

    x, shape (n, N), and Y are centred; there is an intercept.
    """
    n = len(x)
    with threadpool_limits(1, "blas"):
        d, U = linalg.eigh((x @ x.T).astype(np.float64))
        d, C, shares = np.maximum(d, 0.0), U.T @ Y, np.full(n, 1.0 / n)
        errors = _squared_errors(d, U, C, shares, candidates.penalties)
        return np.asarray(errors[:, np.argmin(errors.sum(axis=0))])


def _squared_errors(d: Array, U: Array, C: Array, shares: Array, penalties: Array) -> Array:
    """Return the squared errors on episodes left out, of all outputs together, shape (n, n_penalties)."""
    lam = np.array([_share(d, penalty) for penalty in penalties])
    kept = lam / (d[:, None] + lam)
    left = np.maximum(U**2 @ kept - shares[:, None], np.finfo(float).eps)
    residuals = (U @ (column[:, None] * kept) for column in C.T)
    return np.asarray(sum(residual**2 for residual in residuals) / left**2)


def _cross_validation(T: _Tridiagonal, C: Array, square: float, n: float, lam: float, caution: float) -> float:
    """Return RSS / (n - caution tr H)^2 for one lambda, or infinity if no degrees of freedom are left."""
    W = T.solved(C, lam)
    rss = square - float((W * C).sum()) - lam * float((W**2).sum())
    left = n - caution * float((T.values / (T.values + lam)).sum())
    return np.inf if left <= 1e-6 * n else max(rss, 1e-12 * square) / left**2
