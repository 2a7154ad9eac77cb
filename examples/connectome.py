"""A reservoir wired like a brain, beside the same neurons rewired at random. The matrix is made up: put in your own.

A connectome is a matrix of weights: row i holds what neuron i receives. `rewire` keeps every neuron's numbers of inputs
and outputs, and draws anew whom they come from and go to: the difference is what the wiring adds to those numbers.
"""

import numpy as np
from scipy import sparse
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split

import kenyon as kn

N, TYPES = 400, 4  # neurons, and cell types among them


def main() -> None:
    digits = load_digits()  # read row by row: 8 steps of 8 pixels
    X, y = digits.images / 16.0, digits.target
    W, W_in = connectome(np.random.default_rng(0))
    for seed in (None, 0, 1, 2):
        wiring = "as it is" if seed is None else f"rewired, seed {seed}"
        between = W if seed is None else kn.rewire(W, seed=seed)
        reservoir = kn.Reservoir.from_weights(
            W_in=W_in, W=between, leak_rate=kn.LogUniform(0.2, 1.0).draw(N), spectral_radius=0.9, activation="tanh"
        )
        within = (between.toarray() != 0)[same_type()].sum() / between.nnz
        print(f"{wiring:<16} within types {within:.2f}  accuracy {accuracy(reservoir, X, y):.3f}")


def same_type() -> np.ndarray:
    types = np.arange(N) * TYPES // N
    return types[:, None] == types


def connectome(rng: np.random.Generator) -> tuple[sparse.csr_array, np.ndarray]:
    """Return W and W_in: dense within cell types, lognormal numbers of connections, a fifth of the neurons inhibitory.

    Input reaches the first type only.
    """
    inputs, outputs = rng.lognormal(0, 0.6, (2, N))
    chance = np.outer(inputs, outputs) * np.where(same_type(), 0.10, 0.01)
    signs = np.where(rng.random(N) < 0.2, -4.0, 1.0)  # of all that a neuron sends
    W = sparse.csr_array((rng.random((N, N)) < chance) * signs * rng.lognormal(0, 0.5, (N, N)))
    W_in = rng.normal(size=(N, 8)) * (np.arange(N) < N // TYPES)[:, None]
    return W, W_in


def accuracy(reservoir: kn.Reservoir, X: np.ndarray, y: np.ndarray) -> float:
    V, V_test, y, y_test = train_test_split(reservoir.run(X), y, test_size=1 / 3, random_state=0, stratify=y)
    return kn.ThresholdReadout("ridge").fit(V, y).score(V_test, y_test)


if __name__ == "__main__":
    main()
