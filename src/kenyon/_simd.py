"""SIMD lanes as Numba types: the only file that speaks LLVM.

A `Lanes` value is LANES float32 numbers and a `Words` value LANES uint32 numbers, held in vector registers and worked
on lane by lane. Plain Numba loops keep such accumulators in memory, which costs a factor of four. Kernels use them
like numbers: `+ - *` and, on words, `^ << >>`. A lane never sees its neighbours, so results do not depend on the lane
an episode happens to sit in, nor on how many lanes one register of the machine holds.

Arrays that lanes are loaded from are C-contiguous. Nothing here checks bounds: callers do.
"""

import operator
from collections.abc import Callable
from typing import Any

import numpy as np
from llvmlite import ir
from numba import njit, types, uintp
from numba.core import cgutils
from numba.extending import intrinsic, models, overload, register_model

LANES = 32


class _LanesType(types.Type):  # type: ignore[misc]
    """Numba's name for a vector of LANES numbers of one kind."""

    def __init__(self, name: str) -> None:
        super().__init__(name=f"{name}x{LANES}")


class _FloatLanes(_LanesType):
    pass


class _WordLanes(_LanesType):
    pass


Lanes = _FloatLanes("float32")
Words = _WordLanes("uint32")
_LLVM = {
    Lanes: ir.VectorType(ir.FloatType(), LANES),
    Words: ir.VectorType(ir.IntType(32), LANES),
}
_SCALAR = {Lanes: types.float32, Words: types.uint32}
_OF_DTYPE = {types.float32: Lanes, types.uint32: Words}


class _LanesModel(models.PrimitiveModel):  # type: ignore[misc]
    def __init__(self, manager: Any, lanes: _LanesType) -> None:
        super().__init__(manager, lanes, _LLVM[lanes])


register_model(_FloatLanes)(_LanesModel)
register_model(_WordLanes)(_LanesModel)


def aligned(*shape: int) -> np.ndarray[Any, np.dtype[np.float32]]:
    """Return zeros of this shape that start on a cache line."""
    size = int(np.prod(shape))
    raw = np.zeros(size + 16, dtype=np.float32)
    skip = (-raw.ctypes.data % 64) // 4
    return raw[skip : skip + size].reshape(shape)


# --- memory


def _element_pointer(context: Any, builder: Any, array: Any, value: Any, index: Any) -> Any:
    data = context.make_array(array)(context, builder, value).data
    lanes = _LLVM[_OF_DTYPE[array.dtype]]
    return builder.bitcast(builder.gep(data, [index]), lanes.as_pointer())


@intrinsic
def load_at(typing: Any, array: Any, index: Any) -> Any:
    """LANES consecutive elements of an array, in memory order, from element `index` on."""

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        return builder.load(_element_pointer(context, builder, signature.args[0], *args), align=4)

    return _OF_DTYPE[array.dtype](array, types.uintp), generate


@intrinsic
def store_at(typing: Any, array: Any, index: Any, lanes: Any) -> Any:
    """Write `lanes` to an array, in memory order, from element `index` on."""

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        pointer = _element_pointer(context, builder, signature.args[0], args[0], args[1])
        builder.store(args[2], pointer, align=4)
        return context.get_dummy_value()

    return types.void(array, types.uintp, _OF_DTYPE[array.dtype]), generate


@njit
def load(array, row):
    """Lanes of row `row` of an array of LANES columns."""
    return load_at(array, row * uintp(LANES))


@njit
def store(array, row, lanes):
    """Write `lanes` to row `row` of an array of LANES columns."""
    store_at(array, row * uintp(LANES), lanes)


@intrinsic
def item(typing: Any, array: Any, index: Any) -> Any:
    """Element `index` of a contiguous array, with no wrap-around for negative ones."""

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        data = context.make_array(signature.args[0])(context, builder, args[0]).data
        return builder.load(builder.gep(data, [args[1]]))

    return array.dtype(array, types.uintp), generate


# --- arithmetic


def _splat(builder: Any, scalar: Any, lanes: Any) -> Any:
    word = ir.IntType(32)
    undefined = ir.Constant(lanes, ir.Undefined)
    first = builder.insert_element(undefined, scalar, ir.Constant(word, 0))
    return builder.shuffle_vector(first, undefined, ir.Constant(ir.VectorType(word, LANES), [0] * LANES))


def _broadcast(kind: _LanesType, doc: str) -> Any:
    def broadcast(typing: Any, scalar: Any) -> Any:
        def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
            return _splat(builder, args[0], _LLVM[kind])

        return kind(_SCALAR[kind]), generate

    broadcast.__doc__ = doc
    return intrinsic(broadcast)


lanes_of = _broadcast(Lanes, "The same float32 in every lane.")
words_of = _broadcast(Words, "The same uint32 in every lane.")


def _elementwise(result: _LanesType, operands: tuple[_LanesType, ...], build: Callable[..., Any]) -> Any:
    """Make an intrinsic from `build(builder, *operands)`."""

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        return build(builder, *args)

    signature = result(*operands)
    if len(operands) == 1:
        return intrinsic(lambda typing, a: (signature, generate))
    if len(operands) == 2:
        return intrinsic(lambda typing, a, b: (signature, generate))
    return intrinsic(lambda typing, a, b, c: (signature, generate))


def _llvm_function(name: str, n_operands: int) -> Callable[..., Any]:
    def build(builder: Any, *args: Any) -> Any:
        vector = _LLVM[Lanes]
        kind = ir.FunctionType(vector, [vector] * n_operands)
        function = cgutils.get_or_insert_function(builder.module, kind, f"llvm.{name}.v{LANES}f32")
        return builder.call(function, args)

    return build


def _relu(builder: Any, lanes: Any) -> Any:
    zero = ir.Constant(_LLVM[Lanes], [0.0] * LANES)
    return builder.select(builder.fcmp_ordered(">", lanes, zero), lanes, zero)


def _select_bit(builder: Any, mask: Any, if_set: Any, if_clear: Any) -> Any:
    zero = ir.Constant(_LLVM[Words], [0] * LANES)
    return builder.select(builder.icmp_unsigned("!=", mask, zero), if_set, if_clear)


def _where_positive(builder: Any, condition: Any, lanes: Any) -> Any:
    zero = ir.Constant(_LLVM[Lanes], [0.0] * LANES)
    return builder.select(builder.fcmp_ordered(">", condition, zero), lanes, zero)


@intrinsic
def sum_lanes(typing: Any, lanes: Any) -> Any:
    """Sum all lanes, halves added to halves, so always in the same order."""

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        value, size, word = args[0], LANES, ir.IntType(32)
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

    return types.float32(Lanes), generate


_unary = (Lanes,)
_ternary = (Lanes, Lanes, Lanes)
# a b + c: rounded once where the processor has it, as every processor of the last ten years does
fma = _elementwise(Lanes, _ternary, _llvm_function("fmuladd", 3))
sqrt = _elementwise(Lanes, _unary, _llvm_function("sqrt", 1))
relu = _elementwise(Lanes, _unary, _relu)
where_positive = _elementwise(Lanes, (Lanes, Lanes), _where_positive)  # the second where the first is > 0, else 0
choose = _elementwise(Lanes, (Words, Lanes, Lanes), _select_bit)
to_float = _elementwise(Lanes, (Words,), lambda b, a: b.uitofp(a, _LLVM[Lanes]))
bits_of = _elementwise(Words, _unary, lambda b, a: b.bitcast(a, _LLVM[Words]))
from_bits = _elementwise(Lanes, (Words,), lambda b, a: b.bitcast(a, _LLVM[Lanes]))

_OPERATORS: dict[Any, dict[_LanesType, Callable[..., Any]]] = {
    operator.add: {Lanes: lambda b, x, y: b.fadd(x, y), Words: lambda b, x, y: b.add(x, y)},
    operator.sub: {Lanes: lambda b, x, y: b.fsub(x, y), Words: lambda b, x, y: b.sub(x, y)},
    operator.mul: {Lanes: lambda b, x, y: b.fmul(x, y)},
    operator.xor: {Words: lambda b, x, y: b.xor(x, y)},
    operator.and_: {Words: lambda b, x, y: b.and_(x, y)},
    operator.lshift: {Words: lambda b, x, y: b.shl(x, y)},
    operator.rshift: {Words: lambda b, x, y: b.lshr(x, y)},
}


def _overload(symbol: Any, builds: dict[_LanesType, Callable[..., Any]]) -> None:
    compiled = {kind: _elementwise(kind, (kind, kind), build) for kind, build in builds.items()}

    @overload(symbol)
    def _apply(a, b):  # bare, because Numba wants the signature of the lambda
        if a == b and a in compiled:
            work = compiled[a]
            return lambda a, b: work(a, b)
        return None


for _symbol, _builds in _OPERATORS.items():
    _overload(_symbol, _builds)
