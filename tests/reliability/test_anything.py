"""Whatever comes in: a right result, or an error that names the argument, which is left as it was."""

import contextlib
import inspect
import re

import matplotlib as mpl
import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import kenyon as kn
from kenyon import connectivity, envs
from kenyon.paper.reproduce import reproduce
from tests.reliability import cases_learning, cases_runs, cases_sequences  # noqa: F401 (they fill the registry)
from tests.reliability.cases_model import FOLDER, RESERVOIR, TASK, saved
from tests.reliability.registry import CASES, fingerprint, leaves
from tests.reliability.strategies import clothes

mpl.use("agg")
pytestmark = [  # scikit-learn's own, which its checks of estimators ask for
    pytest.mark.filterwarnings("ignore:A column-vector y:sklearn.exceptions.DataConversionWarning"),
    pytest.mark.filterwarnings("ignore:The number of unique classes is greater:UserWarning"),
]
LONG = settings.default.max_examples == settings.get_profile("long").max_examples
tried = settings(
    max_examples=settings.default.max_examples if LONG else 8,
    derandomize=not LONG,
    deadline=None,
    database=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much, HealthCheck.data_too_large],
)
HOSTILE = [(name, argument) for name, case in CASES.items() for argument in case.hostile]
CLOTHED = [(name, argument) for name, case in CASES.items() for argument in case.clothes]
SEVERAL = [name for name, case in CASES.items() if len(case.hostile) > 1]


@pytest.fixture(autouse=True, scope="module")
def elsewhere():
    """Work in a folder of its own, for names of files are made up."""
    with contextlib.chdir(FOLDER):
        yield


def outcome(case, arguments, spoilt):
    """Call, and see that what comes out is right, or an error that names one of the spoilt arguments."""
    before = {name: fingerprint(value) for name, value in arguments.items()}
    try:
        result = case.call(**arguments)
    except (ValueError, TypeError) as error:
        named = {word for name in spoilt for word in case.words.get(name, (name,))}
        if not any(re.search(rf"(?<!\w){re.escape(word)}(?!\w)", str(error)) for word in named):
            pytest.fail(f"{type(error).__name__} names none of {sorted(named)}: {error}")
    except case.errors:
        pass
    else:
        assert case.nan or all(np.isfinite(leaf).all() for leaf in leaves(case.see(result)) if leaf.dtype.kind == "f")
        case.check(result)
    assert {name: fingerprint(value) for name, value in arguments.items()} == before, "an argument was changed"


@pytest.mark.parametrize("name", CASES)
def test_the_valid_arguments_are_valid(name):
    case = CASES[name]
    case.check(case.call(**case.valid()))


@pytest.mark.parametrize(("name", "argument"), HOSTILE)
@tried
@given(data=st.data())
def test_one_hostile_argument(name, argument, data):
    case = CASES[name]
    outcome(case, {**case.valid(), argument: data.draw(case.hostile[argument], argument)}, [argument])


@pytest.mark.parametrize("name", SEVERAL)
@tried
@given(data=st.data())
def test_two_hostile_arguments(name, data):
    case = CASES[name]
    spoilt = data.draw(st.lists(st.sampled_from(sorted(case.hostile)), min_size=2, max_size=2, unique=True))
    outcome(case, {**case.valid(), **{name: data.draw(case.hostile[name], name) for name in spoilt}}, spoilt)


@pytest.mark.parametrize(("name", "argument"), CLOTHED)
@tried
@given(data=st.data())
def test_the_same_numbers_in_other_clothes(name, argument, data):
    case = CASES[name]
    plain = np.array(case.clothes[argument])
    worn, value = data.draw(clothes(plain), argument)
    before = fingerprint(value)
    expected = leaves(case.see(case.call(**{**case.valid(), argument: plain})))
    found = leaves(case.see(case.call(**{**case.valid(), argument: value})))
    assert expected
    assert len(found) == len(expected)
    for leaf, other in zip(found, expected, strict=True):
        np.testing.assert_array_equal(leaf, other, f"{argument} as {worn}", strict=True)
    assert fingerprint(value) == before, "an argument was changed"


def public():
    """Yield all public callables of the package, with their names; protocols are there to be read, not called."""
    for name in kn.__all__:
        if not getattr(getattr(kn, name), "_is_protocol", False):
            yield from parts(name, getattr(kn, name))
    for module in (connectivity, envs):
        for name, thing in vars(module).items():
            if not name.startswith("_") and callable(thing) and getattr(thing, "__module__", "") == module.__name__:
                yield from parts(f"{module.__name__.removeprefix('kenyon.')}.{name}", thing)


def parts(name, thing):
    yield name, thing
    for part in dir(thing) if inspect.isclass(thing) else ():
        found = getattr(thing, part)
        ours = (
            (getattr(inspect.unwrap(found), "__module__", "") or "").startswith("kenyon") if callable(found) else False
        )
        if ours and (not part.startswith("_") or part == "__getitem__"):
            yield f"{name}.{part}", found


def test_nothing_public_is_left_out():
    missing = sorted({name for name, _ in public()} - set(CASES))
    assert not missing, f"enter these in the registry: {missing}"


def test_no_argument_is_left_out():
    """But for those of tuples, which hold what they are given."""
    missing = [
        f"{name}: {argument}"
        for name, thing in public()
        for argument, parameter in inspect.signature(thing).parameters.items()
        if argument not in ("self", "kwds") and name not in ("Batch", "Prelearned", "Diverged", "Info", "Proposal")
        if parameter.kind != parameter.VAR_KEYWORD and argument not in CASES[name].hostile
    ]
    assert not missing, f"enter these in the registry: {missing}"


@pytest.mark.parametrize("digits", [400, 5000])
def test_integers_that_cannot_be_written_out_are_refused(digits):
    for number in (10**digits, -(10**digits)):
        for make in (
            lambda number=number: kn.Reservoir(number),
            lambda number=number: kn.Reservoir(10, seed=number),
            lambda number=number: kn.Supervised(number),
            lambda number=number: TASK.draw(3, first=number),
            lambda number=number: RESERVOIR.run([[[number] * 5]]),
        ):
            with pytest.raises(ValueError, match="n_neurons|seed|target|first|inputs"):
                make()


@pytest.mark.parametrize(
    ("argument", "value"),
    [(name, value) for name in ("folder", "figures", "seeds", "quick", "report", "workers", "cluster") for value in
     (3, "\0", b"1", object(), ["9"], [None])
     if (name, value) not in (("seeds", 3), ("workers", 3), ("cluster", "\0"))],
)  # fmt: skip
def test_a_reproduction_refuses_what_it_cannot_do_before_anything_is_run(argument, value):
    blocked = FOLDER / "readout.safetensors" / "below"  # below a file: nothing can be run there
    saved()
    with pytest.raises(ValueError, match=argument):
        reproduce(**{"folder": blocked, "quick": True, "workers": 0, argument: value})
