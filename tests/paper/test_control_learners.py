"""Controls that learn weights alone: against slow, obvious versions of themselves, cut anywhere, and at work."""

import numpy as np
import pytest

import kenyon as kn
from kenyon.paper.controls import ALMA, METHODS, AdaptiveSteps, PassiveAggressive
from kenyon.paper.whitened import Whitened
from tests import naive
from tests.learning.test_updates import episodes

SOURCE = kn.Source(0, "a")
V, LABELS = episodes(np.random.default_rng(0), 400, 45, 3)
RULES = {"told": kn.Supervised(), "by reward": kn.QLearning(reward=6.0, temperature=2.0)}
READINGS = {"V": {}, "centred": {"scaling": "centred"}, "standardised": {"scaling": "standardised"},
            "x": {"start": kn.Percentile(60.0)}}  # fmt: skip
DRAWN = [*(AdaptiveSteps(method=method) for method in METHODS), PassiveAggressive(), Whitened(components=5)]


def features(reading):
    """Return what is read, in double precision."""
    u = V.astype(np.float64)
    if reading == "x":
        return np.maximum(u - np.percentile(u, 60.0, axis=0), 0)
    u = u - u.mean(axis=0) * (reading != "V")
    return u / u.std(axis=0) if reading == "standardised" else u


def with_rule(learner, rule):
    return type(learner)(**{**vars(learner), "rule": rule})


EVERY = [with_rule(learner, rule) for learner in [*DRAWN, AdaptiveSteps(start=0.4)] for rule in RULES.values()]


def learned(learner, *cuts, n_classes=3):
    """Return the state after all episodes, cut into calls at these places, and what happened."""
    state, infos = learner.begin(V, n_classes, SOURCE), []
    for first, last in zip((0, *cuts), (*cuts, len(V)), strict=True):
        state, info = learner.update(state, V[first:last], LABELS[first:last] % n_classes)
        infos.append(info)
    return state, [np.concatenate(parts) for parts in zip(*(info[:2] for info in infos), strict=True)]


def rows_that_learn(rule, y, n):
    """Return the choice in episode n, and the rows that learn from it."""
    at = rule.temperatures(n, 1)[0]
    choice = naive.choose(y, at, SOURCE.uniforms("choice", n, 1)[0, 0])
    return choice, [choice] if isinstance(rule, kn.QLearning) else range(len(y))


def adaptive(x, rule, method, rate):
    """Each method as its paper has it, one weight at a time being left to NumPy."""
    W, m, s = (np.zeros((3, x.shape[1])) for _ in range(3))
    t, unit, right = np.zeros(3), rule.target / np.sqrt(x.shape[1] * (x**2).sum(axis=1).mean()), []
    for n, (one, label) in enumerate(zip(x, LABELS, strict=True)):
        y = W @ one
        choice, rows = rows_that_learn(rule, y, n)
        right.append(choice == label)
        for j in rows:
            g, t[j] = (rule.target * (j == label) - y[j]) * one, t[j] + 1
            if method == "adagrad":
                s[j] += g**2
                change = g / (np.sqrt(s[j]) + 1e-8)
            elif method == "rmsprop":
                s[j] = 0.9 * s[j] + 0.1 * g**2
                change = g / (np.sqrt(s[j]) + 1e-8)
            else:
                m[j], s[j] = 0.9 * m[j] + 0.1 * g, 0.999 * s[j] + 0.001 * g**2
                change = m[j] / (1 - 0.9 ** t[j]) / (np.sqrt(s[j] / (1 - 0.999 ** t[j])) + 1e-8)
            W[j] += rate * unit * change
    return W, right


def passive_aggressive(x, rule, aggressiveness):
    W, C, right = np.zeros((3, x.shape[1])), aggressiveness * rule.target / (x**2).sum(axis=1).mean(), []
    for n, (one, label) in enumerate(zip(x, LABELS, strict=True)):
        y = W @ one
        choice, rows = rows_that_learn(rule, y, n)
        right.append(choice == label)
        if len(rows) == 1:
            e = rule.target * (choice == label) - y[choice]
            W[choice] += np.sign(e) * min(C, max(0, abs(e) - 0.1 * rule.target) / (one @ one)) * one
        else:
            wrong = max((j for j in range(3) if j != label), key=lambda j: y[j])
            tau = min(C, max(0, rule.target - y[label] + y[wrong]) / (2 * one @ one))
            W[label] += tau * one
            W[wrong] -= tau * one
    return W, right


def alma(x, alpha):
    W, k, right = np.zeros((3, x.shape[1])), np.ones(3), []
    for one, label in zip(x, LABELS, strict=True):
        right.append((W @ one).argmax() == label)
        unit = one / np.linalg.norm(one)
        for j, sign in enumerate(np.where(np.arange(3) == label, 1, -1)):
            if sign * W[j] @ unit <= (1 - alpha) / alpha / np.sqrt(k[j]):
                W[j] += sign * np.sqrt(2 / k[j]) * unit
                W[j] /= max(1, np.linalg.norm(W[j]))
                k[j] += 1
    return W, right


def assert_same(learner, expected, right):
    state, (cost, correct) = learned(learner)
    W = learner.readout(state).W
    np.testing.assert_allclose(W, expected, atol=2e-4 * np.abs(expected).max())
    np.testing.assert_array_equal(correct, right)
    assert np.isfinite(cost).all()


@pytest.mark.parametrize("reading", READINGS)
@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize("method", METHODS)
def test_adaptive_steps_are_those_of_their_papers(method, rule, reading):
    learner = AdaptiveSteps(method=method, rate=0.02, rule=RULES[rule], **READINGS[reading])
    assert_same(learner, *adaptive(features(reading), RULES[rule], method, 0.02))


@pytest.mark.parametrize("reading", READINGS)
@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize("aggressiveness", [0.02, 100.0])
def test_passive_aggressive_steps_repair_the_loss_up_to_a_limit(aggressiveness, rule, reading):
    learner = PassiveAggressive(aggressiveness=aggressiveness, rule=RULES[rule], **READINGS[reading])
    assert_same(learner, *passive_aggressive(features(reading), RULES[rule], aggressiveness))


@pytest.mark.parametrize("reading", READINGS)
@pytest.mark.parametrize("alpha", [0.3, 1.0])
def test_alma_is_that_of_its_paper(alpha, reading):
    assert_same(ALMA(alpha=alpha, **READINGS[reading]), *alma(features(reading), alpha))


@pytest.mark.parametrize("rule", RULES)
def test_whitened_steps_are_normalised_steps_on_whitened_states(rule):
    u = features("standardised")
    variances, axes = np.linalg.eigh(u.T @ u / len(u))
    factors = np.ones(45)
    factors[-5:] = np.sqrt(variances[-6] / variances[-5:])
    x, W, right = u @ axes * factors @ axes.T, np.zeros((3, 45)), []
    for n, (one, label) in enumerate(zip(x, LABELS, strict=True)):
        choice, rows = rows_that_learn(RULES[rule], y := W @ one, n)
        right.append(choice == label)
        for j in rows:
            W[j] += 0.3 * (RULES[rule].target * (j == label) - y[j]) / (one @ one) * one
    state, (_, correct) = learned(learner := Whitened(components=5, mu=0.3, rule=RULES[rule]))
    np.testing.assert_allclose(learner.readout(state).outputs(V), x @ W.T, atol=1e-3)
    np.testing.assert_array_equal(correct, right)


def test_whitening_leaves_no_component_larger_than_the_next():
    learner = Whitened(components=7)
    state = learner.begin(V, 3, SOURCE)
    x = learner._whitened(state, ((V - state.shift) * state.scale).astype(np.float32))
    before, after = (np.sort(np.linalg.eigvalsh(np.cov(z.T)))[::-1] for z in (features("standardised"), x))
    np.testing.assert_allclose(after[:8], before[7], rtol=1e-3)
    np.testing.assert_allclose(after[8:], before[8:], rtol=1e-3)


@pytest.mark.parametrize("learner", [*EVERY, ALMA(alpha=0.5), ALMA(start=0.4)], ids=str)
def test_episodes_may_be_cut_anywhere_to_the_bit(learner):
    whole, told = learned(learner)
    for cuts in [(1,), (137, 138, 300), range(7, 400, 7)]:
        cut, parts = learned(learner, *cuts)
        assert learner.readout(cut).W.tobytes() == learner.readout(whole).W.tobytes()
        assert [part.tobytes() for part in parts] == [part.tobytes() for part in told]


@pytest.mark.parametrize("learner", [*EVERY, ALMA()], ids=str)
def test_an_update_leaves_the_old_state_as_it_was(learner):
    old, _ = learner.update(learner.begin(V, 3, SOURCE), V[:50], LABELS[:50])
    before = learner.readout(old).W.copy()
    new, again = (learner.update(old, V[50:], LABELS[50:])[0] for _ in range(2))
    np.testing.assert_array_equal(learner.readout(old).W, before)
    np.testing.assert_array_equal(learner.readout(new).W, learner.readout(again).W)


def test_rows_of_alma_stay_in_the_unit_ball_and_mirror_each_other_with_two_classes():
    state, _ = learned(ALMA(alpha=0.5), n_classes=2)
    W = ALMA().readout(state).W
    np.testing.assert_array_equal(W[0], -W[1])
    assert np.linalg.norm(W[0]) <= 1 + 1e-6


def test_alma_takes_the_largest_output():
    assert ALMA().readout(learned(ALMA())[0]).temperature == 0.0


@pytest.mark.parametrize("learner", DRAWN)
def test_by_reward_only_the_row_of_the_action_taken_learns(learner):
    learner = with_rule(learner, kn.QLearning())
    state = learner.begin(V, 3, SOURCE)
    for n in range(30):
        new, info = learner.update(state, V[n : n + 1], LABELS[n : n + 1])
        changed = (learner.readout(new).W != learner.readout(state).W).any(axis=1)
        assert changed.sum() <= 1
        if info.correct[0]:
            assert changed[LABELS[n]] or info.cost[0] == 0
        state = new


@pytest.mark.parametrize("learner", DRAWN)
def test_other_units_of_states_and_targets_change_nothing(learner):
    def outputs(factor, target):
        one = with_rule(learner, kn.Supervised(target, temperature=target))
        state = one.begin(factor * V, 3, SOURCE)
        return one.readout(one.update(state, factor * V, LABELS)[0]).outputs(factor * V) / target

    np.testing.assert_allclose(outputs(4.0, 10.0), outputs(1.0, 1.0), atol=1e-4)


@pytest.mark.parametrize(
    "learner",
    [
        AdaptiveSteps(method="adagrad", rate=0.1, start=kn.Percentile(85.0)),
        AdaptiveSteps(method="rmsprop", rate=0.02, start=kn.Percentile(85.0)),
        AdaptiveSteps(method="adam", rate=0.02, start=kn.Percentile(85.0)),
        PassiveAggressive(start=kn.Percentile(85.0)),
        ALMA(start=kn.Percentile(85.0)),
        Whitened(components=20),
    ],
    ids=lambda learner: getattr(learner, "method", type(learner).__name__),
)
@pytest.mark.parametrize("rule", RULES)
def test_they_learn_a_small_task(learner, rule):
    if hasattr(learner, "rule"):
        learner = with_rule(learner, type(RULES[rule])())
    task, reservoir = kn.StaticTask(kn.load_odours(), n_stimuli=10, seed=1), kn.Reservoir(n_neurons=100, seed=1)
    result = kn.train({"control": learner}, reservoir, task, 3000, seed=0, n_test=400)
    assert float(result.argmax_accuracy.squeeze()) > 0.9


def test_silence_teaches_nothing_and_is_no_error():
    for learner in (AdaptiveSteps(start=100.0), PassiveAggressive(start=100.0), ALMA(start=100.0)):
        state, _ = learned(learner)
        assert not learner.readout(state).W.any()


def test_a_cost_that_is_not_finite_is_named():
    learner = AdaptiveSteps(rate=1e25)
    with pytest.raises(kn.Diverged, match="a diverged by episode .*smaller steps"):
        learned(learner)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: AdaptiveSteps(method="momentum"), "method must be one of 'adagrad', 'rmsprop', 'adam'"),
        (lambda: AdaptiveSteps(rate=0), "rate must be"),
        (lambda: AdaptiveSteps(start="prelearned"), r"start must be a number .*, a Percentile\(q\) or None"),
        (lambda: AdaptiveSteps(scaling="whitened"), "scaling must be one of"),
        (lambda: AdaptiveSteps(start=0.1, scaling="centred"), "scaling belongs to thresholds=False"),
        (lambda: PassiveAggressive(aggressiveness=-1), "aggressiveness must be"),
        (lambda: PassiveAggressive(rule=kn.Regression()), r"rule must be Supervised\(\) or QLearning\(\)"),
        (lambda: ALMA(alpha=1.5), "alpha must be"),
        (lambda: Whitened(components=0), "components must be"),
        (lambda: Whitened(mu=3), "mu must be"),
        (lambda: Whitened(rule="reward"), "rule must be"),
        (lambda: Whitened(components=45).begin(V, 3, SOURCE), "components must be an integer from 1 to 44, not 45"),
        (lambda: ALMA().update(1, V, LABELS), "state must be a ControlState"),
        (lambda: Whitened().readout(1), "state must be a WhitenedState"),
        (lambda: learned(ALMA(), n_classes=1), "n_classes must be"),
    ],
)
def test_settings_that_make_no_sense_are_refused(make, message):
    with pytest.raises(ValueError, match=message):
        make()


@pytest.mark.parametrize("learner", [AdaptiveSteps(), Whitened(components=3)])
def test_states_and_labels_that_do_not_fit_are_refused_by_name(learner):
    state, holed = learner.begin(V, 3, SOURCE), V.copy()
    holed[3, 2] = np.nan
    for states, classes, message in [
        (V[:, :5], LABELS, r"states must have shape \(n, 45\)"),
        (holed, LABELS, r"states must be finite.*states\[3, 2\] is nan"),
        (V, LABELS[:7], "labels must be 400 integers"),
        (V, LABELS + 1, "labels must be from 0 to 2"),
    ]:
        with pytest.raises(ValueError, match=message):
            learner.update(state, states, classes)
