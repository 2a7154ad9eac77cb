"""Models whose parts do not fit together, as those of a damaged file may not: refused before a kernel sees them."""

import numpy as np
import pytest

import kenyon as kn
from kenyon.estimators._encoding import Scaling, running_scaling
from kenyon.estimators._steps import StepsPart

RNG = np.random.default_rng(0)
X, Y = RNG.normal(size=(40, 4)), np.arange(40) % 3
SERIES = RNG.normal(size=(40, 6, 2))
SMALL = {"n_neurons": 16, "random_state": 0}


def rows(**settings):
    return kn.ThresholdReadout(random_state=0, **settings).partial_fit(X, Y)


def series(**settings):
    return kn.ReservoirClassifier("normalised", **SMALL, **settings).partial_fit(SERIES, Y)


def counts(place, value):
    def spoil(model):
        model._training.following.counts[place] = value

    return spoil


def percentiles(part, value):
    def spoil(model):
        getattr(model._training.following.on, part)[0] = value

    return spoil


def outputs(model):
    model._training = model._training._replace(state=model._training.state._replace(n_outputs=9))


def encoder(**parts):
    def spoil(model):
        model.encoder_ = model.encoder_._replace(**parts)

    return spoil


def pooling(**parts):
    def spoil(model):
        model.encoder_ = model.encoder_._replace(pooling=model.encoder_.pooling._replace(**parts))

    return spoil


def inverse(model):
    model._training = model._training._replace(state=model._training.state._replace(P=np.eye(3)))


def pooled():
    return kn.ReservoirClassifier("ridge", pooling=["mean", "activity"], **SMALL).fit(SERIES, Y)


def steps():
    return kn.SequenceRegressor(**SMALL, washout=5).fit(X, X[:, 0])


DELAYED = kn.Reservoir(16, 0.5, n_inputs=4, delays=kn.Delays(3, 1))
WIDE = kn.Reservoir(16, 0.5, n_inputs=8)


@pytest.mark.parametrize(
    ("make", "spoil", "message"),
    [
        (rows, percentiles("rows", -1e9), "percentiles"),
        (rows, percentiles("rows", np.nan), "percentiles"),
        (rows, percentiles("rows", np.inf), "percentiles"),
        (rows, percentiles("share", -5.0), "percentiles"),
        (rows, counts(0, -1.0), "stream"),
        (rows, counts(4, np.nan), "stream"),
        (rows, outputs, "learner state"),
        (series, encoder(scaling=running_scaling("range", 40)), "values where"),
        (series, encoder(reservoir=WIDE), "values where"),
        (series, encoder(reservoir=DELAYED), "values where"),
        (pooled, pooling(stretches=-1), "pooling"),
        (pooled, pooling(levels=np.zeros((5, 7), np.float32)), "values where"),
        (pooled, pooling(levels=np.zeros((4, 16), np.float32)), "pooling"),
        (steps, encoder(reservoir=DELAYED), "delays"),
        (lambda: rows(learner=kn.RecursiveLeastSquares()), inverse, "recursive least squares"),
    ],
)
def test_a_file_whose_parts_do_not_fit_together_is_refused(tmp_path, make, spoil, message):
    model = make()
    model.save(tmp_path / "model")
    kn.load(tmp_path / "model")
    spoil(model)
    model.save(tmp_path / "model")
    with pytest.raises(ValueError, match=f"model is damaged: .*({message})"):
        kn.load(tmp_path / "model")


def fed():
    model = kn.ReservoirClassifier("normalised", n_neurons=16, leak_rate=0.3, random_state=0)
    return model.feed([0.0, 1.0], key="a").learn_now(1, key="a").feed([1.0, 1.0], key="a").learn_now(2, key="a")


@pytest.mark.parametrize("states", [np.zeros((1, 9), np.float32), np.zeros((1, 10**6), np.float32), np.zeros((1, 16))])
def test_a_series_under_way_with_states_of_other_neurons_is_refused(tmp_path, states):
    model = fed()
    model._fed["a"] = states
    model.save(tmp_path / "model")
    loaded: StepsPart = kn.load(tmp_path / "model")
    with pytest.raises(ValueError, match="states of other neurons"):
        loaded.feed([0.0, 1.0], key="a")


def test_rows_or_steps_of_another_width_than_the_scaling_are_refused(tmp_path):
    model, stream = kn.ThresholdReadout(random_features=9, random_state=0).fit(X[:, :1], Y), fed()
    assert isinstance(model.encoder_.scaling, Scaling)
    model.n_features_in_ = stream.n_features_in_ = 4  # one shift would do for all of them
    for spoilt, use in ((model, lambda m: m.predict(X)), (stream, lambda m: m.feed(X[0], key="a"))):
        spoilt.save(tmp_path / "model")
        with pytest.raises(ValueError, match="inconsistent model"):
            use(kn.load(tmp_path / "model"))
