"""Nine speakers, told apart by how they say two vowels: series of 7 to 29 steps with 12 features, from aeon.

pip install aeon
"""

from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
from aeon.datasets import load_japanese_vowels
from sklearn.model_selection import GridSearchCV, cross_val_score

import kenyon as kn


def main() -> None:
    X, y = load("train")
    X_test, y_test = load("test")
    print(f"{len(X)} series of {min(map(len, X))} to {max(map(len, X))} steps, {X[0].shape[1]} features")
    for learner in ("ridge", "normalised"):
        model = kn.ReservoirClassifier(learner, random_state=0)
        score = cross_val_score(model, X, y, cv=3).mean()
        print(
            f"{learner:<12} cross-validated {score:.3f}, on the test part {model.fit(X, y).score(X_test, y_test):.3f}"
        )
    search = GridSearchCV(kn.ReservoirClassifier(random_state=0), {"n_neurons": [100, 500]}, cv=3).fit(X, y)
    print(f"grid search  {search.best_params_}")
    with TemporaryDirectory() as folder:
        model.save(Path(folder) / "speakers.kenyon")
        again = kn.load(Path(folder) / "speakers.kenyon")
        same = np.array_equal(again.predict_proba(X_test), model.predict_proba(X_test))
    print(f"saved and loaded, the same to the bit: {same}")


def load(split):
    """Return a list of series (T, features), as Kenyon takes them; aeon has features first."""
    X, y = load_japanese_vowels(split=split)
    return [np.asarray(series).T for series in X], y


if __name__ == "__main__":
    main()
