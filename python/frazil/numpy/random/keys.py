"""Random words by keys: Philox4x32-10 on arrays, equal to the operators of random numbers.

Salmon, Moraes, Dror, Shaw, "Parallel Random Numbers: As Easy as 1, 2, 3", SC 2011. Words 4 i to 4 i + 3 of a key are
those of the counter (i, 0, purpose, 0).
"""

from __future__ import annotations

import math
import operator as operations
from typing import Any

import numpy

from ...lazy.array import LazyArray
from ...lazy.functions import function
from ...lazy.operators import operator, ops
from .. import reals, ufuncs
from ..arrays import asarray, astype, vector
from ..shapes import reshape, stack
from ..ufuncs import add, bitwise_and, bitwise_xor, multiply

DRAW, SPLIT, FOLD = 0, 1, 2  # purposes
MULTIPLIERS = 0xD2511F53, 0xCD9E8D57
STEPS = 0x9E3779B9, 0xBB67AE85
ROUNDS = 10


def _u64(value: int) -> LazyArray:
    return asarray(numpy.array(value, numpy.uint64))


def _low(x: LazyArray) -> LazyArray:
    return bitwise_and(x, _u64(0xFFFFFFFF))


def _high(x: LazyArray) -> LazyArray:
    return operator("BitShift", direction="RIGHT")(x, _u64(32))  # type: ignore[no-any-return]


@function
def philox(key: LazyArray, counters: LazyArray, purpose: int) -> LazyArray:
    """Returns the four words for each counter, as uint32[n, 4]."""
    wide = astype(key, "uint64")
    keys = [wide[0], wide[1]]
    first = astype(counters, "uint64")
    nothing = multiply(first, _u64(0))
    words = [first, nothing, add(nothing, _u64(purpose)), nothing]
    for _ in range(ROUNDS):
        a, b = multiply(words[0], _u64(MULTIPLIERS[0])), multiply(words[2], _u64(MULTIPLIERS[1]))
        mixed = [bitwise_xor(bitwise_xor(_high(b), words[1]), keys[0])]
        mixed += [_low(b), bitwise_xor(bitwise_xor(_high(a), words[3]), keys[1]), _low(a)]
        words = mixed
        keys = [_low(add(each, _u64(step))) for each, step in zip(keys, STEPS)]
    return astype(stack(words, 1), "uint32")


def checked(key: Any, name: str) -> LazyArray:
    """Returns the key of a draw. Raises TypeError for anything else."""
    if isinstance(key, LazyArray) and key.dtype == numpy.uint32 and key._extents in ((2,), (None,)):
        return key
    raise TypeError(f"random.{name}() draws by a key: {name}(random.key(seed), ...), or default_rng(seed).{name}(...)")


def key(seed: Any) -> LazyArray:
    """Returns the key for an integer seed: uint32[2], the low and the high half of its 64 bits."""
    if isinstance(seed, LazyArray):
        if seed.dtype.kind not in "iu" or seed.ndim:
            raise TypeError(f"a seed is an integer, not {seed.type}")
        wide = astype(seed, "uint64")
        return astype(stack([_low(wide), _high(wide)]), "uint32")
    bits = operations.index(seed) % (1 << 64)
    return asarray(numpy.array([bits & 0xFFFFFFFF, bits >> 32], numpy.uint32))


PRNGKey = key


def split(key: Any, num: int = 2) -> LazyArray:
    """Returns new independent keys, one per row."""
    numbers = asarray(numpy.arange(num, dtype=numpy.uint32))
    return philox(checked(key, "split"), numbers, SPLIT)[:, :2]  # type: ignore[no-any-return]


def fold_in(key: Any, data: Any) -> LazyArray:
    """Derives a new key from a key and a number below 2**32."""
    number = astype(data, "uint32").reshape(1)
    return philox(checked(key, "fold_in"), number, FOLD)[0, :2]  # type: ignore[no-any-return]


def extents(shape: Any) -> tuple[Any, ...]:
    """Converts a shape to a tuple."""
    return tuple(shape) if isinstance(shape, (tuple, list)) else (shape,)


def words(key: LazyArray, shape: tuple[Any, ...], each: int = 1) -> LazyArray:
    """Returns `each` random words, along a last axis, for each element of a shape."""
    count: Any = math.prod(shape) * each
    if isinstance(count, LazyArray):
        blocks = ops.Range(0, add(count, 3) // 4, 1)
    else:
        blocks = asarray(numpy.arange(-(-count // 4), dtype=numpy.uint32))
    row = reshape(philox(key, blocks, DRAW), -1)[:count]
    return reshape(row, vector((*shape, each)))


def random_bits(key: LazyArray, shape: tuple[Any, ...], width: int) -> LazyArray:
    """Returns random unsigned integers of 32 or 64 bits."""
    if width == 32:
        return words(key, shape)[..., 0]
    pair = astype(words(key, shape, 2), "uint64")
    return add(reals.left_shift(pair[..., 1], _u64(32)), pair[..., 0])


def real_numbers(key: LazyArray, shape: tuple[Any, ...], dtype: Any) -> LazyArray:
    """Returns numbers in [0, 1) that are multiples of the precision of the element type."""
    bits = numpy.finfo(dtype).nmant + 1
    width = 64 if bits > 32 else 32
    drawn = random_bits(key, shape, width)
    shift = asarray(numpy.array(width - bits, drawn.dtype))
    whole = operator("BitShift", direction="RIGHT")(drawn, shift)
    return ufuncs.multiply(astype(whole, dtype), asarray(2.0**-bits, dtype))


