"""ReservoirPy's reservoir with Kenyon's readout: learned thresholds on any states (`pip install reservoirpy`)."""

import numpy as np
from reservoirpy.nodes import Reservoir
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split

import kenyon as kn


def main() -> None:
    digits = load_digits()
    states = last_states(Reservoir(500, sr=0.9, lr=0.3, seed=0), digits.images / 16.0)
    V, V_test, y, y_test = train_test_split(
        states, digits.target, test_size=1 / 3, random_state=0, stratify=digits.target
    )
    for learner in ("gradient_weights", "normalised", "ridge"):
        readout = kn.ThresholdReadout(learner, random_state=0).fit(V, y)
        print(f"{learner:<18} accuracy {readout.score(V_test, y_test):.3f}  active {readout.coding_level_:.2f}")


def last_states(reservoir, series) -> np.ndarray:
    """Run each series from rest; return the states at its end."""
    states = []
    for values in series:
        if reservoir.initialized:
            reservoir.reset()
        states.append(reservoir.run(values)[-1])
    return np.array(states)


if __name__ == "__main__":
    main()
