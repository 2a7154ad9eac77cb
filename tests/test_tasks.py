import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import kenyon as kn
from tests import naive

ODOURS = kn.load_odours()


@given(st.integers(2, 6), st.integers(0, 170), st.integers(0, 1000))
@settings(max_examples=40, deadline=None)
def test_static_task_has_distinct_stimuli_and_balanced_classes(n_classes, extra, seed):
    task = kn.StaticTask(ODOURS, n_classes + extra, n_classes, seed)
    assert len(task) == n_classes + extra == len(np.unique(task.items))
    counts = np.bincount(task.labels, minlength=n_classes)
    assert len(counts) == n_classes
    assert counts.max() - counts.min() <= 1


def test_smaller_static_task_is_part_of_a_larger_one():
    small, large = kn.StaticTask(ODOURS, 20, seed=5), kn.StaticTask(ODOURS, 100, seed=5)
    assert set(small.items[:, 0]) <= set(large.items[:, 0])


def test_stimuli_are_the_papers_up_to_140_and_any_beyond(odours):
    of_the_paper = set(range(140))
    assert odours.names[:140] == kn.load_odours("paper").names
    assert set(kn.StaticTask(odours, 140, seed=3).items[:, 0]) == of_the_paper
    assert set(kn.StaticTask(odours, 100, seed=3).items[:, 0]) < of_the_paper
    assert not set(kn.StaticTask(odours, 141, seed=3).items[:, 0]) <= of_the_paper
    assert not set(kn.StaticTask(odours, 100, seed=3, pool="all").items[:, 0]) <= of_the_paper
    assert set(kn.SequenceTask(odours, 100, seed=3).items.ravel()) == of_the_paper
    assert set(kn.SequenceTask(odours, 100, seed=3, pool="all").items.ravel()) == set(range(176))
    many = kn.SequenceTask(odours, 1, 150, seed=3)  # 140 odours have too few for 150 perturbations
    assert not set(many.items.ravel()) <= of_the_paper


@pytest.mark.parametrize(
    "table",
    [ODOURS[:60], ODOURS.resample(200, 1), kn.Odours(list("abcdefgh"), np.eye(8))],
    ids=["part", "resampled", "own"],
)
@pytest.mark.parametrize(
    "make", [lambda *a, **b: kn.StaticTask(*a, 8, **b), lambda *a, **b: kn.SequenceTask(*a, 2, **b)]
)
def test_other_tables_have_one_pool(table, make):
    default, everything = make(table, seed=4), make(table, seed=4, pool="all")
    np.testing.assert_array_equal(default.items, everything.items)
    np.testing.assert_array_equal(default.labels, everything.labels)


@given(st.sampled_from(["own", "shared"]), st.integers(2, 4), st.integers(1, 6), st.integers(0, 1000))
@settings(max_examples=40, deadline=None)
def test_sequence_task_is_built_as_specified(contexts, n_classes, n_bases, seed):
    task = kn.SequenceTask(ODOURS, n_bases, n_classes, seed, contexts=contexts)
    assert len(task) == 3 * n_classes**2 * n_bases
    assert len({tuple(item) for item in task.items}) == len(task)
    assert (np.bincount(task.labels) == len(task) // n_classes).all()
    items = task.items.reshape(n_bases, 3, n_classes, n_classes, 3)
    labels = task.labels.reshape(n_bases, 3, n_classes, n_classes)
    everything = set(range(n_classes))
    for base in range(n_bases):
        contexts = []
        for p in range(3):
            group, group_labels = items[base, p], labels[base, p]
            assert len(np.unique(group[:, 0, p])) == n_classes  # as many perturbations as classes
            assert set(group_labels[:, 0]) == everything  # which differ in class in the base's own context
            for perturbation in range(n_classes):
                assert len(np.unique(group[perturbation, :, p])) == 1  # one perturbation in all its contexts
                assert set(group_labels[perturbation]) == everything  # has every class
            assert len(np.unique(np.delete(group[:, 0], p, axis=1), axis=0)) == 1  # the base's own context
            contexts.append(np.insert(np.delete(group[0, 0], p).astype(float), p, np.nan))
        known = np.nanmax(contexts, axis=0)  # all positions' contexts come from one base
        for context in contexts:
            assert ((context == known) | np.isnan(context)).all()


@given(st.integers(2, 4), st.integers(1, 4), st.integers(0, 1000), st.sampled_from([20, 176]))
@settings(max_examples=40, deadline=None)
def test_with_shared_contexts_no_element_and_no_context_tells_the_class(n_classes, n_bases, seed, n_odours):
    task = kn.SequenceTask(ODOURS[:n_odours], n_bases, n_classes, seed, contexts="shared")
    assert (np.diff(np.sort(task.items, axis=1)) > 0).all()  # three different stimuli
    balanced = _labels_by(task, lambda item, position: [(place, item[place]) for place in range(3)])
    balanced |= _labels_by(task, lambda item, position: [(position, *np.delete(item, position))])
    for labels in balanced.values():
        counts = np.bincount(labels, minlength=n_classes)
        assert (counts == counts[0]).all()


def _labels_by(task, keys):
    found = {}
    for item, label, position in zip(task.items.tolist(), task.labels, task.positions.tolist(), strict=True):
        for key in keys(item, position):
            found.setdefault(key, []).append(label)
    return found


def test_a_new_context_of_a_perturbation_occurs_once():
    task = kn.SequenceTask(ODOURS, 5, seed=2)
    found = _labels_by(task, lambda item, position: [(position, *np.delete(item, position))])
    assert sorted(map(len, found.values())) == [1] * (~task.own_context).sum() + [2] * 15


@pytest.mark.parametrize("contexts", ["own", "shared"])
def test_positions_and_contexts_of_sequences_are_known(contexts):
    task = kn.SequenceTask(ODOURS, 3, 2, seed=1, contexts=contexts)
    for base in np.split(np.arange(len(task)), 3):
        own = base[task.own_context[base]]
        elements = [set(task.items[own[task.positions[own] != p], p]) for p in range(3)]
        (a,), (b,), (c,) = elements  # where it is not perturbed, the base's own context shows the base
        for item, position, is_own in zip(task.items[base], task.positions[base], task.own_context[base], strict=True):
            assert item[position] != (a, b, c)[position]
            same = np.delete(item, position) == np.delete((a, b, c), position)
            assert same.all() if is_own else not same.any()
    with pytest.raises(ValueError, match="read-only"):
        task.own_context[0] = False


def test_neither_perturbation_nor_base_context_alone_tells_the_class():
    task = kn.SequenceTask(ODOURS, 1, 3, seed=1)
    labels = task.labels.reshape(1, 3, 3, 3)
    assert all(len(set(labels[0, p, q])) == 3 for p in range(3) for q in range(3))
    assert all(len(set(labels[0, p, :, 0])) == 3 for p in range(3))


def test_largest_sequence_task_of_few_odours_is_still_distinct():
    few = ODOURS[:8]
    task = kn.SequenceTask(few, 3, 2, seed=0)
    assert len({tuple(item) for item in task.items}) == len(task) == 36


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: kn.StaticTask(ODOURS, 0), "n_stimuli must be an integer from 2 to 176, not 0"),
        (lambda: kn.StaticTask(ODOURS, 177), "n_stimuli must be an integer from 2 to 176, not 177"),
        (lambda: kn.StaticTask(ODOURS, 10.0), "n_stimuli .*not 10.0"),
        (lambda: kn.StaticTask(ODOURS, 10, 1), "n_classes .*at least 2, not 1"),
        (lambda: kn.StaticTask(ODOURS, 2, 3), "n_stimuli must be an integer from 3 to 176, not 2"),
        (lambda: kn.StaticTask(ODOURS, 10, 300), "n_stimuli and n_classes|n_stimuli must"),
        (lambda: kn.StaticTask(ODOURS, 10, noise=-0.1), r"noise must be a number in \[0, inf\), not -0.1"),
        (lambda: kn.StaticTask(ODOURS, 10, noise=np.nan), "noise .*not nan"),
        (lambda: kn.StaticTask(ODOURS, 10, steps=0), "steps .*at least 1, not 0"),
        (lambda: kn.StaticTask(ODOURS, 10, seed=-1), "seed .*at least 0, not -1"),
        (lambda: kn.StaticTask(ODOURS, 10, seed=0.5), "seed .*not 0.5"),
        (lambda: kn.StaticTask(ODOURS, 10, seed="one"), "seed .*not 'one'"),
        (lambda: kn.StaticTask(ODOURS, 10, seed=True), "seed .*not True"),
        (lambda: kn.SequenceTask(ODOURS, 0), "n_bases .*at least 1, not 0"),
        (lambda: kn.SequenceTask(ODOURS[:5], 1), "12 different sequences of three odours, too many for 5 odours"),
        (lambda: kn.SequenceTask(ODOURS[:7], 30), "360 different sequences .* too many for 7 odours"),
        (lambda: kn.SequenceTask(ODOURS[:6], 1, contexts="shared"), "12 different sequences .* too many for 6 odours"),
        (lambda: kn.SequenceTask(ODOURS, contexts="new"), "contexts must be one of 'own', 'shared', not 'new'"),
        (lambda: kn.StaticTask(ODOURS, pool="fruits"), "pool must be one of 'paper', 'all', not 'fruits'"),
        (lambda: kn.StaticTask(ODOURS, noise_kind="pink"), "noise_kind must be one of 'per_channel', 'common'"),
        (lambda: kn.SequenceTask(ODOURS[:6], 10), "120 different sequences .* too many for 6 odours"),
    ],
)
def test_what_cannot_be_satisfied_is_refused_in_words(make, message):
    with pytest.raises(ValueError, match=message):
        make()


def test_items_are_drawn_uniformly():
    task = kn.StaticTask(ODOURS, 20, seed=0)
    draw = task.draw(40_000, seed=1)
    counts = np.bincount(draw.items, minlength=20)
    chi2 = ((counts - 2000) ** 2 / 2000).sum()
    assert chi2 < 19 + 5 * np.sqrt(2 * 19)
    np.testing.assert_array_equal(draw.labels, task.labels[draw.items])


def test_an_episode_is_the_same_wherever_it_is_drawn_from():
    task = kn.StaticTask(ODOURS, 20, seed=0)
    whole = task.draw(100, seed=2)
    part = task.draw(7, seed=2, first=53)
    for a, b in zip(whole, part, strict=True):
        np.testing.assert_array_equal(a[53:60], b)
    far = task.draw(2, seed=2, first=2**32 - 1)  # the number does not fit one word any more
    assert far.keys.tolist() != task.draw(2, seed=2).keys.tolist()
    assert not np.array_equal(far.keys[1], whole.keys[0])


@pytest.mark.parametrize(
    "task",
    [
        kn.StaticTask(ODOURS, 9, steps=4),
        kn.SequenceTask(ODOURS, 1, steps=2),
        kn.StaticTask(ODOURS, 9, steps=4, noise_kind="common"),
        kn.SequenceTask(ODOURS, 2, steps=2, noise_kind="common").split(2)[0],
    ],
)
def test_inputs_are_those_of_the_oracle(task):
    expected = naive.inputs(task, task.draw(40, seed=3))
    np.testing.assert_allclose(task.inputs(40, seed=3), expected, rtol=3e-5, atol=3e-6)


def test_every_odour_is_as_likely_to_be_in_a_static_task(odours):
    n_seeds, n_stimuli = 300, 44
    counts = np.zeros(len(odours))
    for seed in range(n_seeds):
        np.add.at(counts, kn.StaticTask(odours, n_stimuli, seed=seed, pool="all").items[:, 0], 1)
    p = n_stimuli / len(odours)
    assert (np.abs(counts / n_seeds - p) < 4.5 * np.sqrt(p * (1 - p) / n_seeds)).all()
