"""SIMD lanes as Numba types: the only file that speaks LLVM.

Lanes are a few float32, uint32 or uint8 numbers (8, 16 or 32 of them: the width is part of the type), held in vector
registers and worked on lane by lane. Plain Numba loops keep such accumulators in memory, which is four times as slow.
Kernels use them like numbers: `+ - * /` and, on words, `& ^ << >>`; a plain number among the operands is repeated in
every lane. A lane never sees its neighbours, so results depend neither on the lane of an episode, nor on the width, nor
on how many lanes one register of the machine holds.

Arrays that lanes are loaded from are C-contiguous, and elements are counted in memory order. Indices are unsigned
(`uintp`), which spares checks for negative ones. Nothing here checks bounds: callers do.
"""

import math
import operator
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from llvmlite import ir
from llvmlite.binding import get_host_cpu_features
from numba import types
from numba.core import cgutils, config
from numba.extending import intrinsic, models, overload, register_model
from numpy.typing import NDArray

LANES = 32  # in kernels that have only one width


def _processor_has(feature: str) -> bool:
    """Tell whether kernels are compiled for processors with a feature, by LLVM's name."""
    features = config.CPU_FEATURES
    return f"+{feature}" in (get_host_cpu_features().flatten() if features is None else features).split(",")


BITS = _processor_has("avx512bw")  # comparisons of lanes give bits, not words
PART = 16 if _processor_has("avx512f") else 8  # where more is at work side by side than registers hold at full width


class LanesType(types.Type):  # type: ignore[misc]
    """Numba's name for `width` numbers of one kind."""

    def __init__(self, scalar: types.Type, width: int) -> None:
        self.scalar, self.width = scalar, width
        super().__init__(name=f"{scalar}x{width}")

    @property
    def llvm(self) -> ir.VectorType:
        """The type in LLVM."""
        kind = ir.FloatType() if self.scalar == types.float32 else ir.IntType(self.scalar.bitwidth)
        return ir.VectorType(kind, self.width)


@register_model(LanesType)
class _LanesModel(models.PrimitiveModel):  # type: ignore[misc]
    def __init__(self, manager: Any, lanes: LanesType) -> None:
        super().__init__(manager, lanes, lanes.llvm)


class Rows8(NamedTuple):
    """An array (n, 8) whose rows are lanes."""

    values: NDArray[Any]


class Rows16(NamedTuple):
    """An array (n, 16) whose rows are lanes."""

    values: NDArray[Any]


class Rows32(NamedTuple):
    """An array (n, 32) whose rows are lanes."""

    values: NDArray[Any]


Rows = Rows8 | Rows16 | Rows32
WIDTHS: dict[type[Rows], int] = {Rows8: 8, Rows16: 16, Rows32: 32}


def aligned(*shape: int) -> np.ndarray[Any, np.dtype[np.float32]]:
    """Return zeros of this shape that start on a cache line."""
    size = math.prod(shape)
    raw = np.zeros(size + 16, dtype=np.float32)
    skip = (-raw.__array_interface__["data"][0] % 64) // 4
    return raw[skip : skip + size].reshape(shape)


# --- memory


def _element_pointer(lanes: LanesType, context: Any, builder: Any, array: Any, value: Any, index: Any) -> Any:
    data = context.make_array(array)(context, builder, value).data
    return builder.bitcast(builder.gep(data, [index]), lanes.llvm.as_pointer())


def _load(width: int) -> Any:
    """Make the intrinsic that returns `width` consecutive elements of an array, from element `index` on."""

    def typed(typing: Any, array: Any, index: Any) -> Any:
        lanes = LanesType(array.dtype, width)

        def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
            return builder.load(_element_pointer(lanes, context, builder, signature.args[0], *args), align=4)

        return lanes(array, types.uintp), generate

    return intrinsic(typed)


load_at, load_part = _load(LANES), _load(PART)


@intrinsic
def store_at(typing: Any, array: Any, index: Any, lanes: Any) -> Any:
    """Write lanes to an array, from element `index` on."""

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        pointer = _element_pointer(lanes, context, builder, signature.args[0], args[0], args[1])
        builder.store(args[2], pointer, align=4)
        return context.get_dummy_value()

    return types.void(array, types.uintp, lanes), generate


def _of_rows(rows: Any) -> LanesType:
    return LanesType(rows.types[0].dtype, WIDTHS[rows.instance_class])


def _row_pointer(context: Any, builder: Any, rows: Any, value: Any, row: Any) -> Any:
    array, lanes = builder.extract_value(value, 0), _of_rows(rows)
    first = builder.mul(row, ir.Constant(row.type, lanes.width))
    return _element_pointer(lanes, context, builder, rows.types[0], array, first)


@intrinsic
def load(typing: Any, rows: Any, row: Any) -> Any:
    """Return one row of `Rows`."""

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        return builder.load(_row_pointer(context, builder, signature.args[0], *args), align=4)

    return _of_rows(rows)(rows, types.uintp), generate


@intrinsic
def store(typing: Any, rows: Any, row: Any, lanes: Any) -> Any:
    """Write one row of `Rows`."""

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        builder.store(args[2], _row_pointer(context, builder, signature.args[0], args[0], args[1]), align=4)
        return context.get_dummy_value()

    return types.void(rows, types.uintp, _of_rows(rows)), generate


def _prefetch(builder: Any, pointer: Any, n_bytes: int) -> None:
    """Ask for the cache lines of so many bytes."""
    byte, word, line = ir.IntType(8), ir.IntType(32), 64
    first = builder.bitcast(pointer, byte.as_pointer())
    kind = ir.FunctionType(ir.VoidType(), [first.type, word, word, word])
    function = cgutils.get_or_insert_function(builder.module, kind, "llvm.prefetch.p0i8")
    to_read, to_all_caches, data = (ir.Constant(word, option) for option in (0, 3, 1))
    for place in range(0, n_bytes, line):
        builder.call(function, [builder.gep(first, [ir.Constant(ir.IntType(64), place)]), to_read, to_all_caches, data])


@intrinsic
def prefetch(typing: Any, rows: Any, row: Any) -> Any:
    """Ask for one row of `Rows` that will be loaded soon."""

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        _prefetch(builder, _row_pointer(context, builder, signature.args[0], *args), 4 * _of_rows(rows).width)
        return context.get_dummy_value()

    return types.void(rows, types.uintp), generate


@intrinsic
def prefetch_at(typing: Any, array: Any, index: Any) -> Any:
    """Ask for the cache line of an element that will be loaded soon; nothing happens if there is none."""

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        data = context.make_array(signature.args[0])(context, builder, args[0]).data
        _prefetch(builder, builder.gep(data, [args[1]]), 1)
        return context.get_dummy_value()

    return types.void(array, types.uintp), generate


@intrinsic
def copy_turned(typing: Any, rows: Any, places: Any, first: Any, lane: Any, out: Any, start: Any, apart: Any) -> Any:
    """Write eight lanes of eight rows to an array, turned: the eight numbers of a lane one after another.

    The rows are those whose numbers are in `places` from element `first` on, the lanes those from `lane` on. They go to
    elements of `out` from `start` on, those of the next lane `apart` elements later.
    """

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        values, numbers, first, lane, target, start, apart = args
        eight, of_rows = LanesType(types.float32, 8), signature.args[0]
        array, width = builder.extract_value(values, 0), WIDTHS[of_rows.instance_class]
        places = context.make_array(signature.args[1])(context, builder, numbers).data
        lines = []
        for k in range(8):
            row = builder.load(builder.gep(places, [builder.add(first, ir.Constant(first.type, k))]))
            element = builder.add(builder.mul(builder.zext(row, first.type), ir.Constant(first.type, width)), lane)
            pointer = _element_pointer(eight, context, builder, of_rows.types[0], array, element)
            lines.append(builder.load(pointer, align=4))
        for k, line in enumerate(_turned(builder, lines)):
            element = builder.add(start, builder.mul(apart, ir.Constant(start.type, k)))
            pointer = _element_pointer(eight, context, builder, signature.args[4], target, element)
            builder.store(line, pointer, align=4)
        return context.get_dummy_value()

    index = types.uintp
    return types.void(rows, places, index, index, out, index, index), generate


def _turned(builder: Any, lines: list[Any]) -> list[Any]:
    """Return the columns of a square of vectors, by three times interleaving the first half with the second."""
    word, n = ir.IntType(32), len(lines)
    low, high = ([k // 2 + n * (k % 2) + half for k in range(n)] for half in (0, n // 2))
    masks = [ir.Constant(ir.VectorType(word, n), mask) for mask in (low, high)]
    for _ in range(n.bit_length() - 1):
        pairs = zip(lines[: n // 2], lines[n // 2 :], strict=True)
        lines = [builder.shuffle_vector(a, b, mask) for a, b in pairs for mask in masks]
    return lines


@intrinsic
def gather(typing: Any, values: Any, places: Any, row: Any) -> Any:
    """Return the elements of `values`, `Rows` of floats, whose numbers are in one row of `places`, `Rows` of words."""
    lanes, words = LanesType(types.float32, WIDTHS[places.instance_class]), ir.IntType(32)

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        array = signature.args[0].types[0]
        data = context.make_array(array)(context, builder, builder.extract_value(args[0], 0)).data
        first = builder.bitcast(_row_pointer(context, builder, signature.args[1], *args[1:]), words.as_pointer())
        gathered = ir.Constant(lanes.llvm, ir.Undefined)
        for k in (ir.Constant(words, lane) for lane in range(lanes.width)):
            place = builder.zext(builder.load(builder.gep(first, [k])), ir.IntType(64))
            gathered = builder.insert_element(gathered, builder.load(builder.gep(data, [place])), k)
        return gathered

    return lanes(values, places, types.uintp), generate


@intrinsic
def item(typing: Any, array: Any, index: Any) -> Any:
    """Return element `index` of an array."""

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        data = context.make_array(signature.args[0])(context, builder, args[0]).data
        return builder.load(builder.gep(data, [args[1]]))

    return array.dtype(array, types.uintp), generate


# --- arithmetic


def _splat(builder: Any, scalar: Any, lanes: LanesType) -> Any:
    word = ir.IntType(32)
    undefined = ir.Constant(lanes.llvm, ir.Undefined)
    first = builder.insert_element(undefined, scalar, ir.Constant(word, 0))
    return builder.shuffle_vector(first, undefined, ir.Constant(ir.VectorType(word, lanes.width), [0] * lanes.width))


def _repeated(width: int) -> Any:
    """Make the intrinsic that returns the same float32 in each of `width` lanes."""
    lanes = LanesType(types.float32, width)

    def typed(typing: Any, scalar: Any) -> Any:
        def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
            return _splat(builder, args[0], lanes)

        return lanes(types.float32), generate

    return intrinsic(typed)


lanes_of, part_of = _repeated(LANES), _repeated(PART)


@intrinsic
def lanes_like(typing: Any, rows: Any, scalar: Any) -> Any:
    """Return the same number in each lane of a row."""
    lanes = _of_rows(rows)

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        return _splat(builder, args[1], lanes)

    return lanes(rows, lanes.scalar), generate


def _elementwise(result: types.Type, operands: tuple[types.Type, ...], build: Callable[..., Any]) -> Any:
    """Make an intrinsic for lanes of any width from `build(builder, *operands)`.

    `result` and `operands` are the kinds of number; an operand that is a plain number is broadcast.
    """

    def typed(*given: Any) -> Any:
        widths = {operand.width for operand in given if isinstance(operand, LanesType)}
        if len(widths) != 1:
            return None
        (width,) = widths
        wanted = [LanesType(kind, width) for kind in operands]
        fits = (a == lanes or isinstance(a, types.Number) for a, lanes in zip(given, wanted, strict=True))
        if not all(fits):
            return None

        def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
            values = [
                value
                if isinstance(kind, LanesType)
                else _splat(builder, context.cast(builder, value, kind, lanes.scalar), lanes)
                for value, kind, lanes in zip(args, signature.args, wanted, strict=True)
            ]
            return build(builder, *values)

        return LanesType(result, width)(*given), generate

    if len(operands) == 1:
        return intrinsic(lambda typing, a: typed(a))
    if len(operands) == 2:
        return intrinsic(lambda typing, a, b: typed(a, b))
    return intrinsic(lambda typing, a, b, c: typed(a, b, c))


def _llvm_function(name: str) -> Callable[..., Any]:
    def build(builder: Any, *args: Any) -> Any:
        vector = args[0].type
        kind = ir.FunctionType(vector, [vector] * len(args))
        function = cgutils.get_or_insert_function(builder.module, kind, f"llvm.{name}.v{vector.count}f32")
        return builder.call(function, args)

    return build


_magnitude = _llvm_function("fabs")


def _zero(lanes: Any) -> Any:
    return ir.Constant(lanes.type, [0] * lanes.type.count)


def _select_bit(builder: Any, mask: Any, if_set: Any, if_clear: Any) -> Any:
    return builder.select(builder.icmp_unsigned("!=", mask, _zero(mask)), if_set, if_clear)


def _where_positive(builder: Any, condition: Any, lanes: Any) -> Any:
    return builder.select(builder.fcmp_ordered(">", condition, _zero(condition)), lanes, _zero(lanes))


def _zero_up_to(builder: Any, lanes: Any, limit: Any) -> Any:
    return builder.select(builder.fcmp_ordered("<=", lanes, limit), _zero(lanes), lanes)


def _zero_within(builder: Any, lanes: Any, limit: Any) -> Any:
    return builder.select(builder.fcmp_ordered("<=", _magnitude(builder, lanes), limit), _zero(lanes), lanes)


def _clamp(builder: Any, lanes: Any, limit: Any) -> Any:
    low = builder.fsub(_zero(lanes), limit)
    lanes = builder.select(builder.fcmp_ordered(">", lanes, limit), limit, lanes)
    return builder.select(builder.fcmp_ordered("<", lanes, low), low, lanes)


def _where_active(builder: Any, condition: Any, lanes: Any) -> Any:
    return builder.select(builder.fcmp_ordered("!=", condition, _zero(condition)), lanes, _zero(lanes))


def _along(builder: Any, direction: Any, lanes: Any) -> Any:
    words = ir.VectorType(ir.IntType(32), lanes.type.count)
    sign = builder.and_(builder.bitcast(direction, words), ir.Constant(words, [0x80000000] * lanes.type.count))
    turned = builder.bitcast(builder.xor(builder.bitcast(lanes, words), sign), lanes.type)
    return _where_active(builder, direction, turned)


def place_of_count(lane: int, width: int) -> int:
    """Return where in a row of counts that of a lane is.

    With AVX-512 comparisons are bits, which become bytes in the order of the lanes. Without, they are words of equal
    bytes, and each quarter of the lanes has every fourth byte: so they become bytes by taking one byte of each where it
    is, half the work of bringing them into order.
    """
    return lane if BITS else lane % (width // 4) * 4 + lane // (width // 4)


def _count_above(builder: Any, counts: Any, lanes: Any, limit: Any) -> Any:
    width, word, above = counts.type.count, ir.IntType(32), builder.fcmp_ordered(">", lanes, limit)
    if BITS:
        return builder.sub(counts, builder.sext(above, counts.type))
    above = builder.sext(above, ir.VectorType(word, width))  # true: all bytes are -1
    above = builder.bitcast(above, ir.VectorType(ir.IntType(8), 4 * width))
    ordered = sorted(range(width), key=lambda lane: place_of_count(lane, width))
    taken = ir.Constant(ir.VectorType(word, width), [4 * lane + place % 4 for place, lane in enumerate(ordered)])
    return builder.sub(counts, builder.shuffle_vector(above, above, taken))


def _cast(name: str, kind: Any) -> Callable[..., Any]:
    return lambda builder, a: getattr(builder, name)(a, ir.VectorType(kind, a.type.count))


@intrinsic
def sum_lanes(typing: Any, lanes: Any) -> Any:
    """Sum all lanes by adding one half to the other, again and again: always in the same order."""

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        value, size, word = args[0], lanes.width, ir.IntType(32)
        while size > 1:
            size //= 2
            undefined = ir.Constant(value.type, ir.Undefined)
            low, high = (
                builder.shuffle_vector(
                    value, undefined, ir.Constant(ir.VectorType(word, size), list(range(first, first + size)))
                )
                for first in (0, size)
            )
            value = builder.fadd(low, high)
        return builder.extract_element(value, ir.Constant(word, 0))

    return types.float32(lanes), generate


_float, _word, _byte = types.float32, types.uint32, types.uint8
# a b + c, rounded once if the processor can, as all of the last ten years can
fma = _elementwise(_float, (_float, _float, _float), _llvm_function("fmuladd"))
sqrt = _elementwise(_float, (_float,), _llvm_function("sqrt"))
relu = _elementwise(_float, (_float,), lambda builder, lanes: _where_positive(builder, lanes, lanes))
magnitude = _elementwise(_float, (_float,), _magnitude)
where_active = _elementwise(_float, (_float, _float), _where_active)  # b where a is not 0, else 0
along = _elementwise(_float, (_float, _float), _along)  # b with the sign of a times its own; 0 where a is 0
zero_up_to = _elementwise(_float, (_float, _float), _zero_up_to)  # 0 where a <= b, else a
zero_within = _elementwise(_float, (_float, _float), _zero_within)  # 0 where |a| <= b, else a
clamp = _elementwise(_float, (_float, _float), _clamp)  # a, but no further from 0 than b
count_above = _elementwise(_byte, (_byte, _float, _float), _count_above)  # a, and 1 more where b > c; own order
choose = _elementwise(_float, (_word, _float, _float), _select_bit)  # b where a is not 0, else c
to_float = _elementwise(_float, (_word,), _cast("uitofp", ir.FloatType()))
bits_of = _elementwise(_word, (_float,), _cast("bitcast", ir.IntType(32)))
from_bits = _elementwise(_float, (_word,), _cast("bitcast", ir.FloatType()))

_OPERATORS: dict[Any, dict[types.Type, Callable[..., Any]]] = {
    operator.add: {_float: lambda b, x, y: b.fadd(x, y), _word: lambda b, x, y: b.add(x, y)},
    operator.sub: {_float: lambda b, x, y: b.fsub(x, y), _word: lambda b, x, y: b.sub(x, y)},
    operator.mul: {_float: lambda b, x, y: b.fmul(x, y)},
    operator.truediv: {_float: lambda b, x, y: b.fdiv(x, y)},
    operator.xor: {_word: lambda b, x, y: b.xor(x, y)},
    operator.and_: {_word: lambda b, x, y: b.and_(x, y)},
    operator.lshift: {_word: lambda b, x, y: b.shl(x, y)},
    operator.rshift: {_word: lambda b, x, y: b.lshr(x, y)},
}


def _overload(symbol: Any, builds: dict[types.Type, Callable[..., Any]]) -> None:
    compiled = {kind: _elementwise(kind, (kind, kind), build) for kind, build in builds.items()}

    @overload(symbol)
    def _apply(a, b):  # no annotations: Numba compares its signature with that of the lambda
        lanes = [operand for operand in (a, b) if isinstance(operand, LanesType)]
        if lanes and lanes[0].scalar in compiled:
            work = compiled[lanes[0].scalar]
            return lambda a, b: work(a, b)
        return None


for _symbol, _builds in _OPERATORS.items():
    _overload(_symbol, _builds)
