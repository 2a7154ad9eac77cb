"""What a user might hand in: hostile values, hostile arrays, and the same numbers in other clothes."""

import datetime
import operator
from decimal import Decimal
from fractions import Fraction
from pathlib import Path

import numpy as np
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from scipy import sparse

import kenyon as kn

THINGS = [
    *(None, True, False, np.True_, NotImplemented, ..., object(), object, int, len, slice(1), kn),
    *("", "1", "nan", "V", "ü\0", b"1", bytearray(b"1"), memoryview(b"12"), 1j, np.complex64(1), Path("x")),
    *(float("nan"), float("inf"), -float("inf"), np.float32("nan"), -0.0, 0, 1, 2, -1, 0.5, 1.0, 1.5, -0.5),
    *(1e308, -1e308, 1e-308, 5e-324, 1e39, -1e39, 1e20, 1e-20, 3.5e38, np.float16(0.5), np.longdouble("1e4000")),
    *(2**31, 2**63 - 1, 2**63, 2**64, 2**70, -(2**70), 10**400, -(10**400), np.uint64(2**64 - 1), np.int8(2)),
    *(np.datetime64("2020-01-01"), np.timedelta64(3, "s"), np.datetime64("NaT"), datetime.date(2020, 1, 1)),
    *(Decimal("0.5"), Fraction(1, 2), np.array(1), np.array(0.5), np.array("1"), np.array([1]), np.array([[0.5]])),
    *([], [1], (1, 2), {}, {1: 2}, {"a": [1]}, {1, 2}, range(3), iter([1]), np.ma.masked, np.array(None)),
    *(np.array([], object), np.array([1, "a", None], object), np.zeros(2, [("a", "f4")]), [[1], [2, 3]], [[[]]]),
    *(sparse.eye_array(3), np.array(["a", "b"]), np.array([2**70]), np.zeros((3, 0)), [None, None], "abc"),
]
NUMBERS = [np.nan, np.inf, -np.inf, 1e300, -1e300, 3.5e38, -3e38, 1e39, 1e19, -1.0, 5e-324, 1e-45, 2.0**40, 0.5]


def anything():
    """Anything at all that is not too large to be handled."""
    return st.one_of(
        st.sampled_from(THINGS), st.integers(), st.floats(), st.text(max_size=3), st.complex_numbers(), real_arrays(3)
    )


def counts(most):
    """Anything, but no number of things that would merely take long: none from `most` up to 64 bits."""
    return st.one_of(anything(), st.integers(0, most)).filter(lambda value: not _costly(value, most))


def reals():
    """Anything, most often a number."""
    return st.one_of(anything(), st.floats(0, 2), st.floats(), st.sampled_from(NUMBERS))


def words(*allowed):
    """Anything, or one of the words."""
    return st.one_of(anything(), st.sampled_from(allowed))


def real_arrays(most_dims=4):
    """Small arrays of any kind of number, bool or date."""
    kinds = st.one_of(
        hnp.floating_dtypes(endianness="?"), hnp.integer_dtypes(endianness="?"), hnp.boolean_dtypes(),
        hnp.complex_number_dtypes(), hnp.datetime64_dtypes(), hnp.unicode_string_dtypes(max_len=3),
    )  # fmt: skip
    return hnp.arrays(kinds, hnp.array_shapes(min_dims=0, max_dims=most_dims, min_side=0, max_side=4))


@st.composite
def spoilt(draw, valid):
    """A valid array with something wrong."""
    array = np.array(valid)
    return draw(st.sampled_from(SPOILERS))(draw, array)


def arrays(valid):
    """Anything, most often an array that is almost right."""
    return st.one_of(anything(), spoilt(valid), spoilt(valid), spoilt(valid), real_arrays())


def _costly(value, most):
    try:
        return most < operator.index(value) < 2**63
    except TypeError:
        return False


def _place(draw, array):
    return tuple(draw(st.integers(0, n - 1)) for n in array.shape)


def _with_number(draw, array):
    array = array.astype(np.float64)
    array[_place(draw, array)] = draw(st.sampled_from(NUMBERS))
    return array


def _with_any_number(draw, array):
    array = array.astype(np.float64)
    array[_place(draw, array)] = draw(st.floats())
    return array


def _with_object(draw, array):
    array = array.astype(object)
    array[_place(draw, array)] = draw(st.sampled_from([None, "x", 2**70, [1], 1j, np.ma.masked, True]))
    return array


def _of_another_kind(draw, array):
    kinds = ("c16", "U8", "S8", "O", "?", "M8[s]", "m8[s]", "i8", "u1", "f2", ">f8", "g", [("a", "f4")])
    return array.astype(draw(st.sampled_from(kinds)))


def _of_another_shape(draw, array):
    change = st.sampled_from(
        [
            lambda a: a[..., None],
            lambda a: a[None],
            np.ravel,
            lambda a: a[:0],
            lambda a: a[..., :0],
            lambda a: a[:1],
            lambda a: a[..., :1],
            lambda a: a[:-1],
            lambda a: a[..., :-1],
            lambda a: np.concatenate([a, a], axis=-1),
            lambda a: np.concatenate([a, a]),
            np.transpose,
        ]
    )
    return draw(change)(array)


def _masked(draw, array):
    mask = np.zeros(array.shape, bool)
    mask[_place(draw, array)] = True
    return np.ma.masked_array(array, mask)


def _ragged(draw, array):
    rows = array.tolist()
    rows[-1] = rows[-1][:-1] if isinstance(rows[-1], list) else [rows[-1]]
    return rows


def _constant(draw, array):
    return np.full(array.shape, draw(st.sampled_from([0.0, 1.0, -1.0, 3e38, 1e-40, 1e-300])))


def _scaled(draw, array):
    with np.errstate(all="ignore"):
        return array.astype(np.float64) * draw(
            st.sampled_from([-1.0, 1e-300, 1e-42, 1e-20, 1e12, 1e20, 1e38, 1e99, 1e160])
        )


SPOILERS = [
    _with_number, _with_any_number, _with_object, _of_another_kind, _of_another_shape, _masked, _ragged, _constant,
    _scaled,
]  # fmt: skip


class Sub(np.ndarray):
    """A subclass, as other libraries have them."""


def clothes(array):
    """Ways to hand over the same numbers: a name and a value each. `array` holds small multiples of 1/8."""
    array = np.array(array)
    found = {
        "list": array.tolist(),
        "list of rows": list(array),
        "big-endian": array.astype(array.dtype.newbyteorder(">")),
        "Fortran": np.asfortranarray(array),
        "strided": np.repeat(array, 2, axis=-1)[..., ::2],
        "every other row": np.repeat(array, 2, axis=0)[::2],
        "backwards": array[::-1].copy()[::-1],
        "read-only": array.copy(),
        "unaligned": _unaligned(array),
        "subclass": array.view(Sub),
        "without a mask": np.ma.masked_array(array),
        "object that is an array": Wrapped(array),
    }
    found["read-only"].flags.writeable = False
    kinds = "f2 f4 f8 g >f4 >f2" if array.dtype.kind == "f" else "i1 u1 i2 >i4 i4 u4 u8 >u2"
    found.update({kind: array.astype(kind) for kind in kinds.split()})
    if array.dtype.kind == "f":
        assert np.array_equal(found["f2"], array), "not the same numbers in half precision"
    return st.sampled_from(sorted(found)).map(lambda name: (name, found[name]))


class Wrapped:
    """What becomes an array when asked, as a table of another library does."""

    def __init__(self, array):
        self.array = array

    @property
    def shape(self):
        return self.array.shape

    @property
    def ndim(self):
        return self.array.ndim

    def __len__(self):
        return len(self.array)

    def __array__(self, dtype=None, copy=None):
        return np.array(self.array, dtype)


def _unaligned(array):
    room = bytearray(array.nbytes + 1)
    view = np.frombuffer(room, np.uint8)[1:].view(array.dtype).reshape(array.shape)
    view[...] = array
    return view
