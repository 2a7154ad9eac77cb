"""What pandas objects carry: long form, column names and indices; and dicts of series."""

import numpy as np
import pandas as pd
import pytest
from sklearn.model_selection import GridSearchCV, cross_val_score, train_test_split

import kenyon as kn
from tests.estimators.data import sines

CHANNELS = ["a", "b"]


def model(**settings):
    return kn.ReservoirClassifier(n_neurons=30, random_state=0, **settings)


def frames(n=30):
    """Return series as DataFrames, and their labels."""
    X, y = sines(n)
    return [pd.DataFrame(x, columns=CHANNELS) for x in X], y


def long_form(n=30, seed=0):
    """Return a table with the rows of all series mixed up, and the series and labels in it, in order of appearance."""
    X, y = frames(n)
    rows = [x.assign(fly=f"fly {i}", t=np.arange(len(x)), kind="abc"[y[i]]) for i, x in enumerate(X)]
    table = pd.concat(rows).sample(frac=1, random_state=seed).reset_index(drop=True)
    return table, {f"fly {i}": (x, "abc"[y[i]]) for i, x in enumerate(X)}


def test_series_of_a_long_table_are_those_it_was_made_of():
    table, expected = long_form()
    before = table.copy()
    X, y = kn.series_from_frame(table, id="fly", time="t", channels=CHANNELS, label="kind")
    pd.testing.assert_frame_equal(table, before)
    assert X.index.tolist() == y.index.tolist() == table.fly.drop_duplicates().tolist()
    assert (X.index.name, y.name) == ("fly", "kind")
    for fly, (series, kind) in expected.items():
        np.testing.assert_array_equal(X[fly], series)
        assert y[fly] == kind
        assert X[fly].index.name == "t"
        assert X[fly].columns.tolist() == CHANNELS


def test_all_other_columns_are_channels_and_the_order_of_rows_is_kept_by_default():
    table, _ = long_form()
    X = kn.series_from_frame(table, id="fly", channels=CHANNELS)
    for fly, part in table.groupby("fly"):
        np.testing.assert_array_equal(X[fly], part[CHANNELS])
        assert X[fly].index.tolist() == list(range(len(part)))
    assert kn.series_from_frame(table.drop(columns="kind"), id="fly", time="t").iloc[0].columns.tolist() == CHANNELS
    assert kn.series_from_frame(table, id="fly", channels="b").iloc[0].columns.tolist() == ["b"]


@pytest.mark.parametrize(
    "convert",
    [
        lambda t: t * 0.5,
        lambda t: pd.Timestamp("2024-02-28", tz="Europe/Zurich") + pd.to_timedelta(t, "h"),
        lambda t: t.map("{:03d}".format),
        lambda t: t.astype("Int64"),
        lambda t: pd.Categorical(t.map("step {}".format), [f"step {i}" for i in range(99)], ordered=True),
    ],
)
def test_times_of_any_kind_are_sorted(convert):
    table, expected = long_form()
    X = kn.series_from_frame(table.assign(t=convert(table.t)), id="fly", time="t", channels=CHANNELS)
    for fly, (series, _) in expected.items():
        np.testing.assert_array_equal(X[fly], series)


def test_identifiers_and_labels_may_be_categories_or_numbers():
    table, _ = long_form()
    table = table.assign(fly=pd.Categorical(table.fly), kind=pd.Categorical(table.kind, list("abcd")))
    X, y = kn.series_from_frame(table, id="fly", time="t", label="kind")
    assert model().fit(X, y).score(X, y) > 0.9
    X, y = kn.series_from_frame(table.assign(kind=table.kind.cat.codes * 0.5), id="fly", time="t", label="kind")
    assert kn.ReservoirRegressor(n_neurons=30, random_state=0).fit(X, y).score(X, y) > 0.9


def with_cell(table, row, column, value):
    table = table.copy()
    table[column] = table[column].astype(object) if column in ("kind", "fly") else table[column].astype(float)
    table.loc[row, column] = value
    return table


GIVEN = {"id": "fly", "time": "t", "channels": CHANNELS, "label": "kind"}


@pytest.mark.parametrize(
    ("change", "more", "message"),
    [
        (lambda t: t[:0], {}, "frame has no rows"),
        (lambda t: t.to_numpy(), {}, "frame must be a DataFrame"),
        (lambda t: t, {"id": "bee"}, "id must name one column of frame, not 'bee'; it has"),
        (lambda t: t.set_index("fly"), {}, r"it is in the index: use frame.reset_index\(\)"),
        (lambda t: t, {"time": "hour"}, "time must name one column"),
        (lambda t: t, {"channels": ["a", "c"]}, "channels must name one column of frame, not 'c'"),
        (lambda t: t, {"channels": []}, "channels must name at least one column"),
        (lambda t: t, {"channels": ["a", "a"]}, "none twice"),
        (lambda t: t, {"channels": ["a", "t"]}, "channels must not contain 't'"),
        (lambda t: t, {"channels": None, "label": None}, "channels must name columns of numbers, but 'kind' holds"),
        (lambda t: t.set_axis(["a", "a", "fly", "t", "kind"], axis=1), {}, "one column of frame, not 'a'"),
        (lambda t: with_cell(t, 7, "b", np.nan), {}, r"missing value in column 'b', row 7 \(fly 'fly \d+'\)"),
        (lambda t: with_cell(t, 7, "fly", None), {}, "missing value in column 'fly', row 7"),
        (lambda t: pd.concat([t, t[:1]]), {}, r"time='t' has \d+ twice for fly 'fly \d+'"),
        (lambda t: t.assign(t=t.t.map(str)), {}, "time='t' holds numbers as text"),
        (lambda t: with_cell(t, 7, "kind", "z"), {}, r"label='kind' differs within fly 'fly \d+': '[a-z]' and"),
    ],
)  # fmt: skip
def test_tables_that_are_not_in_long_form_are_refused_with_the_reason(change, more, message):
    table, _ = long_form()
    with pytest.raises(ValueError, match=message):
        kn.series_from_frame(change(table), **{**GIVEN, **more})


def test_scikit_learn_splits_what_comes_from_a_long_table():
    X, y = kn.series_from_frame(long_form(60)[0], **GIVEN)
    assert cross_val_score(model(), X, y, cv=3).mean() > 0.9
    assert GridSearchCV(model(), {"n_neurons": [10, 30]}, cv=2).fit(X, y).best_score_ > 0.8
    X_train, X_test, y_train, y_test = train_test_split(X, y, random_state=0, stratify=y)
    assert model().fit(X_train, y_train).score(X_test, y_test) > 0.9


def test_series_in_dicts_objects_and_lists_give_the_same():
    X, y = frames()
    expected = model().fit([x.to_numpy() for x in X], y).predict_proba([x.to_numpy() for x in X])
    objects = kn.series_from_frame(pd.concat([x.assign(i=i) for i, x in enumerate(X)]), id="i")
    cells = np.array([x.iloc[:15].to_numpy() for x in X]).astype(object)
    for form in (X, tuple(X), dict(enumerate(X)), {i: x.to_numpy() for i, x in enumerate(X)}, objects):
        np.testing.assert_array_equal(model().fit(form, y).predict_proba(form), expected)
    np.testing.assert_array_equal(
        model().fit(cells, y).predict(cells), model().fit(cells.astype(float), y).predict(cells.astype(float))
    )


def test_errors_name_series_by_their_identifier():
    X, y = frames()
    X[2] = X[2].drop(4).reindex(X[2].index)
    with pytest.raises(ValueError, match=r"X\['fly 2'\] has a missing value \(NaN\): step 4, feature 0"):
        model().fit({f"fly {i}": x for i, x in enumerate(X)}, y)


def test_column_names_are_kept_and_compared(tmp_path):
    X, y = frames()
    fitted = model().fit(X, y)
    assert fitted.feature_names_in_.tolist() == CHANNELS
    fitted.save(tmp_path / "model")
    swapped = [x[["b", "a"]] for x in X]
    for one in (fitted, kn.load(tmp_path / "model")):
        np.testing.assert_array_equal(one.predict(X), fitted.predict(X))
        for use in (one.predict, one.code, one.plot_code, lambda Z, one=one: one.partial_fit(Z, y)):
            with pytest.raises(ValueError, match="Feature names must be in the same order as they were in fit"):
                use(swapped)
        with pytest.warns(UserWarning, match="X does not have valid feature names"):
            one.predict([x.to_numpy() for x in X])
    with pytest.warns(UserWarning, match="was fitted without feature names"):
        model().fit([x.to_numpy() for x in X], y).predict(X)
    transformer = kn.ReservoirTransformer(n_neurons=20).fit(X)
    assert transformer.get_feature_names_out()[0] == "reservoirtransformer0"
    with pytest.raises(ValueError, match="Feature names must be in the same order"):
        transformer.transform(swapped)


def test_columns_of_rows_are_compared_too():
    X, y = frames()
    rows = pd.concat([x.iloc[[-1]] for x in X])
    for kind in (kn.ReservoirClassifier, kn.ThresholdReadout):
        fitted = kind(random_state=0).fit(rows, y)
        with pytest.raises(ValueError, match="Feature names must be in the same order"):
            fitted.predict(rows[["b", "a"]])


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda x: x[["b", "a"]], r"X\[3\] has the columns \['b', 'a'\], but X\[0\] has the columns \['a', 'b'\]"),
        (lambda x: x[["a"]], r"X\[3\] has the columns \['a'\]"),
        (lambda x: x.to_numpy(), r"X\[3\] has no column names, but X\[0\] has the columns"),
    ],
)
def test_frames_with_other_columns_are_named(change, message):
    X, y = frames()
    X[3] = change(X[3])
    with pytest.raises(ValueError, match=message):
        model().fit(X, y)


def indexed(kind):
    """Return X of a kind that has identifiers, and y with the same index."""
    X, y = frames()
    names = [f"fly {i}" for i in range(30)]
    if kind == "dict":
        return dict(zip(names, X, strict=True)), pd.Series(y, names)
    if kind == "rows":
        return pd.concat([x.iloc[[-1]] for x in X]).set_axis(names), pd.Series(y, names)
    cells = np.empty(30, object)
    for i, x in enumerate(X):
        cells[i] = x
    return pd.Series(cells, names), pd.Series(y, names)


@pytest.mark.parametrize("kind", ["dict", "rows", "objects"])
@pytest.mark.parametrize("estimator", [kn.ReservoirClassifier, kn.ReservoirRegressor])
def test_labels_with_another_index_are_refused(kind, estimator):
    X, y = indexed(kind)
    fitted = estimator(n_neurons=20, random_state=0).fit(X, y)
    assert fitted.score(X, y.to_numpy()) == fitted.score(X, y) == fitted.score(X, y.reset_index(drop=True))
    mixed = y.sample(frac=1, random_state=0)
    other = y.rename(lambda name: name.replace("fly", "bee"))
    for use in (fitted.fit, fitted.score, fitted.plot_code, fitted.partial_fit):
        with pytest.raises(ValueError, match=r"in another order: write y.loc\[(X.index|list\(X\))\]"):
            use(X, mixed)
        with pytest.raises(ValueError, match="different indices: number 0 is 'bee 0' in y and 'fly 0' in X"):
            use(X, other)
    keys = list(X) if kind == "dict" else X.index
    assert fitted.score(X, mixed.loc[keys]) == fitted.score(X, y)


def test_readouts_refuse_labels_with_another_index():
    X, y = indexed("rows")
    with pytest.raises(ValueError, match="in another order"):
        kn.ThresholdReadout().fit(X, y[::-1])


def test_indices_that_repeat_or_hold_nothing_are_compared_by_place():
    X, y = indexed("rows")
    kn.ThresholdReadout().fit(X.set_axis([np.nan] * 30), y.set_axis([np.nan] * 30))
    kn.ThresholdReadout().fit(X.set_axis([0] * 30), y.set_axis([0] * 30))
    kn.ThresholdReadout().fit(X.set_axis(range(5, 35)), y.set_axis(range(30)))
