"""Handwritten digits, read row by row: eight steps of eight pixels. The data come with scikit-learn."""

from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split

import kenyon as kn


def main() -> None:
    digits = load_digits()  # images of shape (8, 8): a series of 8 steps with 8 features each
    X, X_test, y, y_test = train_test_split(
        digits.images, digits.target, test_size=1 / 3, random_state=0, stratify=digits.target
    )
    for learner in ("ridge", "normalised"):
        model = kn.ReservoirClassifier(learner, random_state=0).fit(X, y)
        print(f"{learner:<12} accuracy {model.score(X_test, y_test):.3f}  active neurons {model.coding_level_:.2f}")
    one_by_one(X, y, X_test, y_test)


def one_by_one(X, y, X_test, y_test) -> None:
    """Learn from a stream: batches of 100, each seen once."""
    model = kn.ReservoirClassifier("normalised", random_state=0)
    for first in range(0, len(X), 100):
        model.partial_fit(X[first : first + 100], y[first : first + 100], classes=range(10))
        if first % 400 == 0:
            print(f"after {first + 100:>4} digits, accuracy {model.score(X_test, y_test):.3f}")


if __name__ == "__main__":
    main()
