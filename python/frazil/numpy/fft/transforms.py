"""The transforms of numpy.fft, which NumPy computes."""

from __future__ import annotations

from typing import Any, Sequence

import numpy

from ...lazy.array import LazyArray
from ..arrays import asarray, axes_of, axis_of
from ..host import call, known, like, tensor
from ..moves import roll
from ..shapes import extent_of

SINGLE = ("float16", "float32", "complex64")
HALVES = {  # change of the last axis: 1 halved, -1 doubled
    **dict.fromkeys(("rfft", "ihfft", "rfftn"), 1),
    **dict.fromkeys(("irfft", "hfft", "irfftn"), -1),
}
TO_REALS = {"irfft", "hfft", "irfftn"}
NAMES = ("fft", "ifft", "rfft", "irfft", "hfft", "ihfft", "fftn", "ifftn", "rfftn", "irfftn")


def _element(name: str, given: Any) -> numpy.dtype[Any]:
    single = str(given) in SINGLE
    kind = "float" if name in TO_REALS else "complex"
    return numpy.dtype(f"{kind}{(32 if single else 64) * (1 if kind == 'float' else 2)}")


def _of_axis(name: str, extent: Any) -> Any:
    """Returns the result's extent of the last transformed axis."""
    way = HALVES.get(name, 0)
    if not way:
        return extent
    if isinstance(extent, int):
        return extent // 2 + 1 if way == 1 else 2 * (extent - 1)
    return f"floordiv({extent},2)+1" if way == 1 else f"2*(({extent})-1)"


def _given_extent(name: str, n: int) -> int:
    return n // 2 + 1 if HALVES.get(name) == 1 else n


def _types(name: str) -> Any:
    def types(a: Any, axes: list[int], s: list[int] | None, norm: str | None) -> list[Any]:
        shape = list(a.shape)
        for i, axis in enumerate(axes):
            last = i == len(axes) - 1
            if s is not None:
                shape[axis] = _given_extent(name, s[i]) if last else s[i]
            elif last:
                shape[axis] = _of_axis(name, shape[axis])
        return [tensor(_element(name, like(a.dtype)), tuple(shape))]

    return types


def _function(name: str) -> Any:
    def function(a: numpy.ndarray, axes: list[int], s: list[int] | None, norm: str | None) -> Any:
        transform = getattr(numpy.fft, name)
        if name.endswith("n"):
            made = transform(a, s, axes, norm)
        else:
            made = transform(a, None if s is None else s[0], axes[0], norm)
        return made.astype(_element(name, a.dtype))

    return function


for _name in NAMES:
    known(f"fft.{_name}", _function(_name), _types(_name))


def _transformed(name: str, a: Any, axes: list[int], s: list[int] | None, norm: str | None) -> LazyArray:
    if s is not None and any(n < 1 for n in s):
        raise ValueError(f"a transform has at least one element, not {s}")
    return call(f"fft.{name}", [a], axes=axes, s=s, norm=norm)  # type: ignore[no-any-return]


def _check_norm(norm: str | None) -> None:
    if norm not in (None, "backward", "ortho", "forward"):
        raise ValueError(f"norm is 'backward', 'ortho' or 'forward', not {norm!r}")


def _along(name: str, a: Any, n: int | None, axis: int, norm: str | None) -> LazyArray:
    _check_norm(norm)
    a = asarray(a)
    return _transformed(name, a, [axis_of(axis, a.ndim)], None if n is None else [n], norm)


def _over(name: str, a: Any, s: Sequence[int] | None, axes: Sequence[int] | None, norm: str | None) -> LazyArray:
    _check_norm(norm)
    a = asarray(a)
    if axes is None:
        axes = tuple(range(a.ndim - (a.ndim if s is None else len(s)), a.ndim))
    if s is not None and len(s) != len(axes):
        raise ValueError(f"{len(s)} extents for {len(axes)} axes")
    if not axes:
        raise ValueError("a transform has at least one axis")
    return _transformed(name, a, list(axes_of(tuple(axes), a.ndim)), None if s is None else list(s), norm)


def fft(a: Any, n: int | None = None, axis: int = -1, norm: str | None = None) -> LazyArray:
    """Returns the transform of n elements along an axis: the first n, or all and appended zeros."""
    return _along("fft", a, n, axis, norm)


def ifft(a: Any, n: int | None = None, axis: int = -1, norm: str | None = None) -> LazyArray:
    """Returns the inverse of fft()."""
    return _along("ifft", a, n, axis, norm)


def rfft(a: Any, n: int | None = None, axis: int = -1, norm: str | None = None) -> LazyArray:
    """Returns the transform of real numbers, without the redundant half."""
    return _along("rfft", a, n, axis, norm)


def irfft(a: Any, n: int | None = None, axis: int = -1, norm: str | None = None) -> LazyArray:
    """Returns the inverse of rfft() with n elements, by default an even number."""
    return _along("irfft", a, n, axis, norm)


def hfft(a: Any, n: int | None = None, axis: int = -1, norm: str | None = None) -> LazyArray:
    """Returns the real transform of a Hermitian signal, given by its first half."""
    return _along("hfft", a, n, axis, norm)


def ihfft(a: Any, n: int | None = None, axis: int = -1, norm: str | None = None) -> LazyArray:
    """Returns the inverse of hfft()."""
    return _along("ihfft", a, n, axis, norm)


def fftn(a: Any, s: Any = None, axes: Any = None, norm: str | None = None) -> LazyArray:
    """Returns the transform along several axes, by default all, with extents s."""
    return _over("fftn", a, s, axes, norm)


def ifftn(a: Any, s: Any = None, axes: Any = None, norm: str | None = None) -> LazyArray:
    """Returns the inverse of fftn()."""
    return _over("ifftn", a, s, axes, norm)


def rfftn(a: Any, s: Any = None, axes: Any = None, norm: str | None = None) -> LazyArray:
    """Returns fftn() of real numbers, without the redundant half of the last axis."""
    return _over("rfftn", a, s, axes, norm)


def irfftn(a: Any, s: Any = None, axes: Any = None, norm: str | None = None) -> LazyArray:
    """Returns the inverse of rfftn()."""
    return _over("irfftn", a, s, axes, norm)


def fft2(a: Any, s: Any = None, axes: Any = (-2, -1), norm: str | None = None) -> LazyArray:
    """Returns fftn() along two axes."""
    return _over("fftn", a, s, axes, norm)


def ifft2(a: Any, s: Any = None, axes: Any = (-2, -1), norm: str | None = None) -> LazyArray:
    """Returns ifftn() along two axes."""
    return _over("ifftn", a, s, axes, norm)


def rfft2(a: Any, s: Any = None, axes: Any = (-2, -1), norm: str | None = None) -> LazyArray:
    """Returns rfftn() along two axes."""
    return _over("rfftn", a, s, axes, norm)


def irfft2(a: Any, s: Any = None, axes: Any = (-2, -1), norm: str | None = None) -> LazyArray:
    """Returns irfftn() along two axes."""
    return _over("irfftn", a, s, axes, norm)


def fftfreq(n: int, d: float = 1.0, *, device: Any = None) -> LazyArray:
    """Returns the frequencies of fft() of n elements at distance d."""
    return asarray(numpy.fft.fftfreq(n, d))


def rfftfreq(n: int, d: float = 1.0, *, device: Any = None) -> LazyArray:
    """Returns the frequencies of rfft() of n elements at distance d."""
    return asarray(numpy.fft.rfftfreq(n, d))


def _shifted(x: Any, axes: Any, inverse: bool) -> LazyArray:
    x = asarray(x)
    places = tuple(range(x.ndim)) if axes is None else axes_of(axes, x.ndim)
    halves = [extent_of(x, axis) // 2 for axis in places]
    return roll(x, [-half if inverse else half for half in halves], places) if places else x


def fftshift(x: Any, axes: Any = None) -> LazyArray:
    """Returns the elements with the frequency 0 in the middle of axes, by default all."""
    return _shifted(x, axes, False)


def ifftshift(x: Any, axes: Any = None) -> LazyArray:
    """Returns the inverse of fftshift()."""
    return _shifted(x, axes, True)
