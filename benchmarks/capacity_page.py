"""docs/capacity.md: what was run, how settings were chosen, and what came out."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from statistics import mode
from typing import Any, NamedTuple

import numpy as np
from capacity_plan import LEARNED, LEARNERS, LEVEL, OFFLINE, TRAINED, Study, separable, stored
from numpy.typing import NDArray

PAGE = Path(__file__).parents[1] / "docs" / "capacity.md"
RESULTS = "## Results\n\n"
NOT_RUN = "The study has not been run yet: `make capacity` runs it and writes this part of the page.\n"
OURS = "Normalised, both"
LINEAR = OFFLINE[:-1]
TEXT = """\
# Capacity

How many odours can a network of N neurons store, and how many could it? Odours are resampled from the real ones, from
{least:g} N to {most:g} N of them, and each has one of two random classes, so that nothing but memory helps. Written by
`make capacity` from `benchmarks/capacity_plan.py`, which says all that is run; whatever comes out is printed.

**Online**, all on one stream of states, with an update for every episode:

| learner | settings |
|---|---|
{learners}

Other settings are defaults; none was tuned here. Composed prelearns on a seed of its own, at the largest number of
odours. With k = 0 thresholds stay where they start: at the 85th percentile of each neuron and, on the other side, at
the 15th.

| odours | {heads} |
|---|{lines}|
| episodes for each | {shown} |

Learners have at least {fewest:,} episodes in all.

**Offline**, on states of the same task and reservoir that are kept in memory, in units of each neuron's standard
deviation:

- Ridge and logistic regression, with a constant, on V; on x = relu(V - theta); and on the on/off code
  [relu(V - theta_on), relu(theta_off - V)], thresholds held. Thresholds are at percentile q of each neuron (100 - q
  for theta_off), q one of {percentiles}; on x also those that {learned} came to.
- {trained}: the model that "{ours}" learns online, 4 N weights and thresholds and a constant, by Adam on
  the logistic loss: minibatches of 64 from {on} episodes for each odour, a rate that falls linearly to 0, {restarts}
  restarts of {short} passes (thresholds from q of {starts}; rates of {rates}, times sqrt(1000 / N)), and the
  best of them anew for {long} passes. It stands for what these parameters can hold; a better optimiser may find more.

Whatever offline readouts choose, they choose on {n_validation:,} episodes of validation noise: thresholds, by ridge
regression on {few} episodes for each odour; penalties, rates and starts; and how many episodes they need. Regressions
begin with {first} for each odour, and the number is doubled until accuracy on validation noise rises by less than
{rise:g}, up to {cap} and to what fits into {memory:.1f} GB. Logistic regression is minimised by L-BFGS in the metric of
its Hessian at w = 0, from the solution of ridge regression or of its own with half of the episodes.

Accuracy is that of the largest output on {n_test:,} episodes of other noise, the same for all readouts of a seed.

**Cover's limit.** Of all ways to split P patterns in general position into two classes, a linear readout of M units
has the share 2^(1-P) sum over k < M of binom(P - 1, k): all of them up to P = M, half at P = 2 M, and for large M
hardly any beyond (at M = 1,000: {before:.2f} at 1,900 patterns, {after:.2f} at 2,100). So the limit is 2 N for N units
and 4 N for those of the on/off code, with every pattern right and no noise. It says nothing on accuracies below 1,
and nothing on thresholds that learn.

"""


class Network(NamedTuple):
    """What all readouts reached with one number of neurons."""

    n_neurons: int
    odours: Sequence[int]
    episodes: Sequence[int]  # online, for each number of odours
    accuracies: Mapping[str, NDArray[np.float64]]  # (n_sizes, n_seeds), by readout
    chosen: Mapping[str, Sequence[Sequence[Mapping[str, Any]]]]  # results of offline readouts in the same order

    def stored(self, name: str) -> tuple[NDArray[np.float64], bool]:
        """Return how many odours a readout stores, for each seed, and whether its limit was reached in all of them."""
        found = [stored(self.odours, column) for column in self.accuracies[name].T]
        return np.array([n for n, _ in found]), all(reached for _, reached in found)


def page(study: Study, results: str) -> str:
    """Return the page with results as they are given."""
    effort = study.effort
    text = TEXT.format(
        least=study.ratios[0],
        most=study.ratios[-1],
        learners="\n".join(f"| {name} | `{_call(settings)}` |" for name, settings in LEARNERS.items()),
        percentiles=_listing(effort.percentiles),
        learned=" and ".join(f'"{name}"' for name in LEARNED),
        trained=TRAINED[0].upper() + TRAINED[1:],
        restarts=len(effort.starts) * len(effort.rates),
        short=effort.short,
        long=effort.long,
        starts=_listing(effort.starts),
        rates=_listing(effort.rates),
        n_validation=effort.n_validation,
        few=effort.few,
        first=effort.first,
        rise=effort.rise,
        cap=effort.most,
        memory=effort.most_states * 4 / 1e9,
        n_test=study.n_test,
        before=separable(1900, 1000),
        after=separable(2100, 1000),
        heads=" | ".join(f"{ratio:g} N" for ratio in study.ratios),
        lines="|".join("---:" for _ in study.ratios),
        shown=" | ".join(map(str, study.shown)),
        fewest=study.least,
        ours=OURS,
        on=effort.trained,
    )
    return text + RESULTS + results


def write(study: Study, results: str) -> None:
    PAGE.write_text(page(study, results), encoding="utf-8")


def results(networks: Sequence[Network], machine: Sequence[str]) -> str:
    """Return all that was measured, as Markdown."""
    lines = ["![Accuracy and capacity](pictures/capacity.png)", "", *_summary(networks), ""]
    lines += [line for network in networks for line in _accuracies(network)]
    lines += [*_capacities(networks), *_behind(networks)]
    lines += [line for network in networks for line in _choices(network)]
    return "\n".join([*lines, "### Machine", "", *(f"- {line}" for line in machine), ""])


def _summary(networks: Sequence[Network]) -> Iterable[str]:
    """Say what one sees at the largest number of odours at which ours is still at the level, in the largest network."""
    network = max(networks, key=lambda one: one.n_neurons)
    means = network.accuracies[OURS].mean(axis=1)
    place = int(np.flatnonzero(means >= LEVEL)[-1]) if (means >= LEVEL).any() else 0
    at = {name: float(values[place].mean()) for name, values in network.accuracies.items()}
    best = max(LINEAR, key=lambda name: at[name])
    yield (
        f"With {network.n_neurons:,} neurons and {network.odours[place]:,} odours, cooling and both sides together "
        f"come to {_short(at[OURS])}; the best linear readout solved offline, {best}, has {_short(at[best])}, and on V "
        f"{_short(max(at[name] for name in LINEAR if name.endswith(' on V')))}. Trained offline, the same weights and "
        f"thresholds reach {_short(at[TRAINED])}."
    )


def _accuracies(network: Network) -> Iterable[str]:
    n_seeds = next(iter(network.accuracies.values())).shape[1]
    seeds = f"Mean over seeds 0 to {n_seeds - 1}, and their range." if n_seeds > 1 else "Seed 0."
    yield from (f"### {network.n_neurons:,} neurons", "", seeds, "")
    yield f"| odours | {' | '.join(f'{n:,}' for n in network.odours)} |"
    yield "|---|" + "---:|" * len(network.odours)
    yield f"| episodes, online | {' | '.join(f'{n:,}' for n in network.episodes)} |"
    yield from (f"| {name} | {' | '.join(map(_spread, rows))} |" for name, rows in network.accuracies.items())
    yield ""


def _capacities(networks: Sequence[Network]) -> Iterable[str]:
    yield from (f"### Odours stored at {LEVEL:.0%} accuracy", "")
    yield (
        "By linear interpolation between the numbers of odours that were run, mean over seeds; in brackets for each "
        'neuron. "≥": accuracy was still higher at the largest number.'
    )
    yield from ("", f"| neurons | {' | '.join(f'{one.n_neurons:,}' for one in networks)} |")
    yield "|---|" + "---:|" * len(networks)
    for name in networks[0].accuracies:
        yield f"| {name} | {' | '.join(_stored(one, name) for one in networks)} |"
    yield ""


def _stored(network: Network, name: str) -> str:
    found, reached = network.stored(name)
    return f"{'' if reached else '≥ '}{found.mean():,.0f} ({found.mean() / network.n_neurons:.2f})"


def _behind(networks: Sequence[Network]) -> Iterable[str]:
    """Say where linear readouts are ahead of ours, seed by seed."""
    yield from ("### Where it loses", "", f'Seeds in which "{OURS}" is behind, with its largest deficit:', "")
    rows = []
    for network in networks:
        ours = network.accuracies[OURS]
        for name in (*LINEAR, *(name for name in LEARNERS if name != OURS), TRAINED):
            deficits = network.accuracies[name] - ours
            rows += [
                f"| {name} | {network.n_neurons:,} | {n:,} | {(row > 0).sum()} of {len(row)} | {_short(row.max())} |"
                for n, row in zip(network.odours, deficits, strict=True)
                if row.max() >= 0.001
            ]
    yield from (
        ("| behind | neurons | odours | seeds | by up to |", "|---|---:|---:|---:|---:|", *rows) if rows else ("None.",)
    )
    yield ""


def _choices(network: Network) -> Iterable[str]:
    """Tell what offline readouts chose: that of most seeds, and for how many episodes it went on."""
    yield from (f"### Chosen on validation noise, {network.n_neurons:,} neurons", "")
    yield "What most seeds have: thresholds; penalty or rate; episodes for each odour (+: accuracy was still rising)."
    yield from (
        "",
        f"| odours | {' | '.join(f'{n:,}' for n in network.odours)} |",
        "|---|" + "---|" * len(network.odours),
    )
    for name, rows in network.chosen.items():
        yield f"| {name} | {' | '.join(mode(map(_choice, row)) for row in rows)} |"
    yield ""


def _choice(one: Mapping[str, Any]) -> str:
    if "rate" in one:
        return f"q {one['start']:g}; {one['rate']:g}; {one['episodes']}"
    more = "+" if one["rising"] and len(one["course"]) > 1 else ""
    held = [] if one["thresholds"] == "none" else [one["thresholds"].replace("percentile", "q")]
    return "; ".join([*held, f"{one['penalty']:g}", f"{one['episodes']}{more}"])


def _call(settings: Mapping[str, Any]) -> str:
    given = ", ".join(f"{name}={value!r}" for name, value in settings.items() if name != "kind")
    return f"kn.{settings['kind']}({given})".replace("'", '"')


def _listing(values: Sequence[float]) -> str:
    *most, last = (f"{value:g}" for value in values)
    return f"{', '.join(most)} and {last}" if most else last


def _spread(values: NDArray[np.float64]) -> str:
    """Return mean and range over seeds; those that diverged are told, not counted."""
    kept = values[np.isfinite(values)]
    if not len(kept):
        return "diverged"
    lost = f", {len(values) - len(kept)} diverged" if len(kept) < len(values) else ""
    ends = sorted({_short(kept.min()), _short(kept.max())})
    return f"{_short(kept.mean())} ({' to '.join(ends)}{lost})" if len(kept) > 1 else f"{_short(kept[0])}{lost}"


def _short(value: float) -> str:
    return f"{value:.3f}".removeprefix("0")
