"""Draws the pictures for the pages on your own data into docs/pictures."""

from pathlib import Path

import matplotlib as mpl
import matplotlib.pyplot as plt
from sklearn.datasets import load_digits

import kenyon as kn

FOLDER = Path(__file__).parent / "pictures"
STYLE = {"font.size": 9, "axes.titlesize": 9, "savefig.dpi": 200}


def main() -> None:
    """Draw the three displays of a classifier side by side."""
    digits = load_digits()
    X, y = digits.images[:1200], digits.target[:1200]
    model = kn.ReservoirClassifier("normalised", early_stopping=True, patience=40, random_state=0).fit(X, y)
    with mpl.rc_context(STYLE):
        figure, axes = plt.subplots(1, 3, figsize=(11, 3.4), layout="constrained", width_ratios=(1, 1, 1.4))
        model.plot_learning_curve(ax=axes[0])
        model.plot_thresholds(ax=axes[1])
        model.plot_code(digits.images[1200:1700], digits.target[1200:1700], ax=axes[2])
        figure.savefig(FOLDER / "your_data.png", metadata={"Software": None})


if __name__ == "__main__":
    main()
