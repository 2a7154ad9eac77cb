"""Odours that drift: receptors age, and a readout that forgets keeps up.

Forty odours in two classes, one noisy whiff after another, each predicted before it is learned. The receptors age
all the time, each at its own pace, and half-way through all of them are replaced: gains and baselines jump.
"""

import numpy as np

import kenyon as kn

N_ODOURS, N_WHIFFS, BLOCK = 40, 8000, 1000

odours = kn.load_odours()
rng = np.random.default_rng(0)
rates = odours.scaled[rng.permutation(len(odours.scaled))[:N_ODOURS]]
classes = rng.integers(2, size=N_ODOURS)
n_channels = rates.shape[1]
ageing = rng.uniform(0.0, 2e-4, n_channels)  # share of its gain that a receptor loses with every whiff
gains, baselines = rng.uniform(0.7, 1.4, (2, n_channels)), rng.uniform(0.0, 1.0, (2, n_channels))

models = {
    "nothing forgotten": kn.ThresholdReadout(random_features=300, random_state=0),
    "forgetting 0.995": kn.ThresholdReadout(random_features=300, forgetting=0.995, random_state=0),
}
right = {name: np.zeros(N_WHIFFS) for name in models}
for n in range(N_WHIFFS):
    replaced, age = divmod(n, N_WHIFFS // 2)
    odour = rng.integers(N_ODOURS)
    whiff = (
        rates[odour] * gains[replaced] * np.exp(-ageing * age) + baselines[replaced] + rng.normal(0, 0.05, n_channels)
    )
    for name, model in models.items():
        right[name][n] = n > 0 and model.predict_one(whiff) == classes[odour]
        model.learn_one(whiff, classes[odour])

print("whiffs" + "".join(f"{first:>8,}" for first in range(0, N_WHIFFS, BLOCK)))
for name, found in right.items():
    print(f"{name}: accuracy " + " ".join(f"{share:.2f}" for share in found.reshape(-1, BLOCK).mean(axis=1)))
for name, found in right.items():
    print(f"{name}: right after the change {found[N_WHIFFS // 2 : N_WHIFFS // 2 + BLOCK].mean():.3f}")
