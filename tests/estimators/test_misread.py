"""Warnings about input that is probably meant otherwise: raised on series, and not on ordinary tables."""

import warnings

import numpy as np
import pandas as pd
import pytest
from sklearn import datasets
from sklearn.base import clone
from sklearn.model_selection import cross_val_score

import kenyon as kn
from tests.estimators.data import sines

TABLES = ("iris", "wine", "breast_cancer", "diabetes", "digits", "linnerud")


def model():
    return kn.ReservoirClassifier(n_neurons=10, random_state=0)


def silent(fit, *data):
    """Fit, and let warnings be errors."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        return fit(*data)


def long_form(n=60, noise=0.0):
    """Return the steps of series below each other, with columns for series, time and label."""
    X, y = sines(n, seed=1)
    rng = np.random.default_rng(0)
    order = rng.permutation(n)
    rows = [
        pd.DataFrame(X[i] + rng.normal(0, noise, X[i].shape), columns=["a", "b"]).assign(
            fly=k, t=np.arange(len(X[i])), kind=y[i]
        )
        for k, i in enumerate(order)
    ]
    return pd.concat(rows, ignore_index=True)


LONG = r"X seems to hold the steps of series in long form, since .*{}.*kn.series_from_frame\("


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        (lambda table: table, "labels stay the same for"),
        (lambda table: table.sort_values(["kind", "fly", "t"]), "neighbouring rows are alike"),
        (lambda table: table.set_index("fly"), "the index marks 60 groups of rows with one label each"),
        (lambda table: table.set_index("t"), "the index marks 60 groups"),
        (lambda table: table.set_index(["fly", "t"]), "the index marks 60 groups"),
    ],
)
@pytest.mark.parametrize("estimator", [kn.ReservoirClassifier, kn.ReservoirRegressor])
def test_rows_in_long_form_are_noticed(change, reason, estimator):
    table = change(long_form())
    unfitted = estimator(n_neurons=10, random_state=0)
    with pytest.warns(UserWarning, match=LONG.format(reason)):
        unfitted.fit(table[["a", "b"]], table.kind)


def test_columns_that_identify_series_or_count_steps_are_noticed():
    table = long_form(noise=5.0)
    for column in ("fly", "t"):
        with pytest.warns(UserWarning, match=LONG.format(f"column '{column}' marks 60 groups")):
            model().fit(table[["a", "b", column]], table.kind)
        with pytest.warns(UserWarning, match=LONG.format("column 2 marks 60 groups")):
            model().fit(table[["a", "b", column]].to_numpy(), table.kind.to_numpy())


def test_targets_that_stay_the_same_are_noticed():
    table = long_form(noise=5.0)
    table["target"] = np.random.default_rng(0).normal(size=60)[table.fly]
    with pytest.warns(UserWarning, match=LONG.format("labels stay the same")):
        kn.ReservoirRegressor(n_neurons=10).fit(table[["a", "b"]], table.target)


def test_a_transformer_notices_an_index_that_repeats():
    with pytest.warns(UserWarning, match=LONG.format("the index marks 60 groups of rows")):
        kn.ReservoirTransformer(n_neurons=10).fit(long_form().set_index("fly")[["a", "b"]])


def test_a_table_of_series_of_one_channel_is_noticed():
    X, y = sines(60, low=24, high=25, channels=1)
    table = np.stack(X)[:, :, 0]
    for estimator in (model(), kn.ReservoirRegressor(n_neurons=10), kn.ReservoirTransformer(n_neurons=10)):
        with pytest.warns(UserWarning, match=r"X of shape \(60, 24\) .*For series write X\[:, :, None\]"):
            estimator.fit(table, y)
    with pytest.warns(UserWarning, match=r"write X.to_numpy\(\)\[:, :, None\]"):
        model().fit(pd.DataFrame(table), y)
    silent(model().fit, table[:, :, None], y)
    silent(kn.ThresholdReadout().fit, table, y)


def test_channels_before_time_are_noticed():
    X, y = sines(60, low=24, high=25, channels=3)
    stack = np.stack(X).transpose(0, 2, 1)
    for wrong in (stack, list(stack), stack * np.array([1, 30, 1e3])[:, None], stack[:, :1]):
        with pytest.warns(UserWarning, match=r"shape \(channels, T\), .*Write X.transpose\(0, 2, 1\), or x.T"):
            model().fit(wrong, y)
    silent(model().fit, np.stack(X), y)
    silent(model().fit, np.random.default_rng(0).normal(size=(60, 4, 30)), y)


def test_a_warning_is_raised_once_when_learning_begins_and_never_again():
    table = long_form()
    rows = table[["a", "b"]], table.kind
    fitted = model().set_params(warm_start=True)
    with pytest.warns(UserWarning, match="long form") as caught:
        fitted.partial_fit(*rows, classes=[0, 1, 2])
    assert len(caught) == 1
    silent(fitted.partial_fit, *rows)
    silent(fitted.fit, *rows)
    silent(fitted.predict, rows[0])


def orders(y):
    """Yield ways in which the rows of a table may be ordered."""
    rng = np.random.default_rng(0)
    first = y if y.ndim == 1 else y.iloc[:, 0]
    yield np.arange(len(y))
    yield np.argsort(first.to_numpy(), kind="stable")
    yield rng.permutation(len(y))
    yield rng.integers(len(y), size=len(y))
    yield np.tile(np.arange(len(y)), 3)


@pytest.mark.parametrize("name", TABLES)
def test_ordinary_tables_in_any_order_raise_no_warning(name):
    data = getattr(datasets, f"load_{name}")(as_frame=True)
    regression = name in ("diabetes", "linnerud")
    unfitted = (kn.ReservoirRegressor if regression else kn.ReservoirClassifier)(n_neurons=5, n_steps=1)
    for order in orders(data.target):
        X, y = data.data.iloc[order], data.target.iloc[order]
        silent(clone(unfitted).fit, X, y)
        silent(clone(unfitted).fit, X.reset_index(drop=True), y.to_numpy())
        silent(kn.ReservoirTransformer(n_neurons=5, n_steps=1).fit, X)


@pytest.mark.parametrize("seed", range(5))
def test_random_tables_raise_no_warning(seed):
    rng = np.random.default_rng(seed)
    n, width = rng.integers(20, 300), rng.integers(1, 50)
    y = rng.choice(3, n, p=[0.9, 0.08, 0.02])
    y[:6] = [0, 1, 2, 0, 1, 2]
    for X in (rng.normal(size=(n, width)), rng.integers(4, size=(n, width))):
        for labels in (y, np.sort(y)):
            silent(kn.ReservoirClassifier(n_neurons=5, n_steps=1).fit, X, labels)


def test_images_and_parts_of_a_cross_validation_raise_no_warning():
    images, target = datasets.load_digits(return_X_y=True)
    silent(cross_val_score, model(), images.reshape(-1, 8, 8)[:300], target[:300])
    data = datasets.load_iris(as_frame=True)
    silent(cross_val_score, model(), data.data, data.target)
