"""Settings of the learner within an estimator: learner__mu."""

import dataclasses
from dataclasses import FrozenInstanceError, dataclass, field

import numpy as np
import pytest
from sklearn.base import BaseEstimator, clone
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline

import kenyon as kn
from tests.estimators.data import sines
from tests.estimators.test_own_learner import Perceptron

SMALL = {"n_neurons": 40, "epochs": 3, "pooling": "last", "random_state": 0}


def classifier(learner):
    return kn.ReservoirClassifier(learner, **SMALL)


@pytest.mark.parametrize("learner", ["normalised", kn.Normalised(), kn.Normalised(start=kn.Percentile(30))], ids=str)
def test_a_grid_search_sets_what_a_constructor_sets(learner):
    X, y = sines()
    search = GridSearchCV(classifier(learner), {"learner__mu": [1e-9, 0.4], "n_neurons": [40]}, cv=2).fit(X, y)
    assert search.best_params_ == {"learner__mu": 0.4, "n_neurons": 40}  # the other one hardly learns
    named = isinstance(learner, str)  # the name stands for a start, for steps that cool, and for a k
    own = kn.Normalised(start=kn.Percentile(50), cooling="sqrt", k=0.005) if named else learner
    expected = classifier(dataclasses.replace(own, mu=0.4)).fit(X, y)
    np.testing.assert_array_equal(search.best_estimator_.readout_.W, expected.readout_.W)


def test_a_search_may_name_the_learner_and_its_settings_together():
    X, y = sines()
    grid = [{"learner": ["ridge"], "learner__penalty": [1e-3]}, {"learner": ["normalised"], "learner__mu": [0.1, 0.3]}]
    found = GridSearchCV(classifier("composed"), grid, cv=2).fit(X, y).cv_results_["mean_test_score"]
    assert len(found) == 3
    assert np.isfinite(found).all()


def test_settings_of_a_user_s_own_learner_are_set():
    X, y = sines()
    search = GridSearchCV(classifier(Perceptron()), {"learner__rate": [0.1, 0.2]}, cv=2).fit(X, y)
    assert search.best_estimator_.learner == Perceptron(rate=search.best_params_["learner__rate"])


def test_the_learner_that_was_given_stays_as_it_was():
    given = kn.Normalised()
    model = classifier(given).set_params(learner__mu=0.1)
    assert given == kn.Normalised()
    assert model.learner == kn.Normalised(mu=0.1)
    with pytest.raises(FrozenInstanceError):
        model.learner.mu = 0.2


@pytest.mark.parametrize("learner", ["normalised", "composed", "ridge", kn.Normalised(), Perceptron()], ids=str)
def test_settings_are_read_as_they_are_set(learner):
    names = [name for name in classifier(learner).get_params() if name.startswith("learner__")]
    assert names
    assert not set(names) & set(classifier(learner).get_params(deep=False))
    model = classifier(learner).set_params(**{name: classifier(learner).get_params()[name] for name in names})
    X, y = sines()
    np.testing.assert_array_equal(model.fit(X, y).readout_.W, classifier(learner).fit(X, y).readout_.W)


def test_a_learner_by_name_keeps_its_changes_and_takes_its_steps_from_the_data(tmp_path):
    X, y = sines()
    model = classifier("composed").set_params(learner__beta=2.0, learner__period=7)
    assert model.get_params()["learner__beta"] == 2.0
    assert clone(model).get_params()["learner__period"] == 7
    plain = classifier("composed").fit(X, y)._training.learner
    chosen = model.fit(X, y)._training.learner
    assert (chosen.beta, chosen.period, chosen.eta_w) == (2.0, 7, plain.eta_w)
    model.save(tmp_path / "model")
    again = kn.load(tmp_path / "model")
    assert again.get_params()["learner__beta"] == 2.0
    np.testing.assert_array_equal(again.fit(X, y).readout_.W, model.readout_.W)


def test_pipelines_reach_the_learner():
    pipe = make_pipeline(kn.ThresholdReadout()).set_params(thresholdreadout__learner__mu=0.2)
    assert pipe.get_params()["thresholdreadout__learner__mu"] == 0.2


@pytest.mark.parametrize(
    ("learner", "name", "words"),
    [
        (kn.Normalised(), "mi", "did you mean mu"),
        ("ridge", "penalti", "did you mean penalty"),
        ("ridge", "mu", "learner__mu is not a setting of 'ridge'.*known: learner__penalty"),
        ("ridge", "intercept", "not a setting"),
        ("composed", "eta_w", "takes its step sizes from the data"),
        (object(), "mu", "only learners that are dataclasses"),
        ("no such learner", "mu", "not a setting of 'no such learner'"),
        (Perceptron, "rate", "not a setting"),
    ],
)
def test_unknown_settings_are_refused(learner, name, words):
    with pytest.raises(ValueError, match=words):
        classifier(learner).set_params(**{f"learner__{name}": 1.0})


@pytest.mark.parametrize("learner", ["normalised", kn.Normalised()], ids=str)
def test_wrong_values_are_refused_as_in_the_constructor(learner):
    with pytest.raises(ValueError, match="mu must be"):
        classifier(learner).set_params(learner__mu=-1)


def test_fields_that_cannot_be_given_are_no_settings():
    @dataclass(frozen=True)
    class Counting(Perceptron):
        known: int = field(default=0, init=False)

    assert "learner__known" not in classifier(Counting()).get_params()


def test_a_learner_with_scikit_learns_interface_is_left_to_it():
    class Own(BaseEstimator):
        def __init__(self, rate=1.0):
            self.rate = rate

    model = classifier(Own()).set_params(learner__rate=2.0)
    assert model.learner.rate == model.get_params()["learner__rate"] == 2.0
