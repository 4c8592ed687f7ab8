#!/usr/bin/env python3
"""Prints the table of NumPy's public names in docs/reference/python.md: numpy_names.py [--check | --write]

Needs the built package in PYTHONPATH. --check fails if the page has another table, or if the installed NumPy has a name
that is neither in frazil.numpy nor explained here. --write changes the page.
"""

from __future__ import annotations

import pathlib
import sys
import types
import warnings

import frazil.numpy as fnp
import numpy

PAGE = pathlib.Path(__file__).resolve().parents[1] / "docs" / "reference" / "python.md"
BEGIN, END = "<!-- made by scripts/numpy_names.py -->", "<!-- end -->"
NAMESPACES = ("", "linalg", "fft")
INTERNAL = {"annotations", "take_at"}

# Names in frazil.numpy that differ from NumPy's.
DIFFERS = {
    "empty is zeros": "empty empty_like",
    "of NumPy arrays only, TypeError for lazy ones: these do not change": "copyto fill_diagonal place put "
    "put_along_axis putmask",
    "the array itself: it does not change": "copy",
    "all elements are sorted": "argpartition partition",
    "all kinds are stable": "argsort sort",
    "read elements": "allclose array_equal array_equiv asarray_chkfinite bincount histogram histogram2d "
    "histogram_bin_edges histogramdd polydiv polymul real_if_close roots trim_zeros vectorize linalg.eig",
    "not of integers": "reciprocal",
    "0 where there is no number, without an error": "nanargmax nanargmin",
    "integers stay integers, as in NumPy 2": "ceil fix floor trunc",
    "NumPy computes them: the array is read, or a recorded function has a host node": "frexp gcd i0 lcm nextafter "
    "packbits sort_complex spacing unpackbits linalg.cholesky linalg.cond linalg.eig linalg.eigh linalg.eigvals "
    "linalg.eigvalsh linalg.inv linalg.lstsq linalg.matrix_rank linalg.pinv linalg.qr linalg.slogdet linalg.solve "
    "linalg.svd linalg.svdvals linalg.tensorinv linalg.tensorsolve fft.fft fft.fft2 fft.fftn fft.hfft fft.ifft "
    "fft.ifft2 fft.ifftn fft.ihfft fft.irfft fft.irfft2 fft.irfftn fft.rfft fft.rfft2 fft.rfftn",
    "two results, no `out` and `where`": "divmod frexp modf",
}
# Names that frazil.numpy lacks.
ABSENT = {
    "removed in NumPy 2": "ALLOW_THREADS BUFSIZE CLIP ComplexWarning DataSource "
    "ERR_CALL ERR_DEFAULT ERR_IGNORE ERR_LOG "
    "ERR_PRINT ERR_RAISE ERR_WARN FLOATING_POINT_SUPPORT FPE_DIVIDEBYZERO FPE_INVALID FPE_OVERFLOW FPE_UNDERFLOW Inf "
    "Infinity MAXDIMS MAY_SHARE_BOUNDS MAY_SHARE_EXACT ModuleDeprecationWarning NAN NINF NZERO NaN PINF PZERO RAISE "
    "RankWarning SHIFT_DIVIDEBYZERO SHIFT_INVALID SHIFT_OVERFLOW SHIFT_UNDERFLOW Tester TooHardError "
    "UFUNC_BUFSIZE_DEFAULT UFUNC_PYVALS_NAME VisibleDeprecationWarning WRAP add_docstring add_newdoc add_newdoc_ufunc "
    "asfarray byte_bounds cast cfloat clongfloat compare_chararrays compat complex_ deprecate deprecate_with_doc disp "
    "fastCopyAndTranspose find_common_type float_ format_parser get_array_wrap geterrobj infty issctype issubclass_ "
    "issubsctype kernel_version longcomplex longfloat lookfor mat maximum_sctype nbytes numarray obj2sctype oldnumeric "
    "recfromcsv recfromtxt safe_eval sctype2char sctypes set_numeric_ops set_string_function seterrobj singlecomplex "
    "source string_ tracemalloc_domain unicode_ use_hugepage who linalg.lapack_lite fft.helper",
    "dates": "busday_count busday_offset busdaycalendar datetime64 datetime_as_string datetime_data is_busday isnat "
    "timedelta64",
    "texts, objects, records": "bytes_ "
    "char character chararray flexible frompyfunc fromregex object_ rec recarray record "
    "str_ strings void dtypes",
    "long doubles and C's names of integers": "clongdouble complex256 float128 longdouble long ulong float96 "
    "complex192",
    "matrices and masked arrays: use arrays, `where=` and NaN": "asmatrix bmat ma matrix",
    "memory: arrays have no order, strides or buffers": "broadcast "
    "flatiter isfortran memmap nditer nested_iters require",
    "classes of polynomials: `polyval` and the like take vectors": "poly1d polynomial",
    "results whose type depends on values": "emath",
    "settings and information of NumPy itself": "ScalarType "
    "ctypeslib exceptions f2py get_include getbufsize geterrcall "
    "info lib math mintypecode setbufsize seterrcall sctypeDict show_config show_runtime test typecodes version core "
    "typing linalg.linalg linalg.test fft.test",
}


def public(module: object) -> set[str]:
    """Returns the public names of a module, without those of its submodules."""
    names = {name for name in dir(module) if not name.startswith("_") and name not in INTERNAL}
    return {n for n in names if not isinstance(getattr(module, n), types.ModuleType)}


def ours() -> dict[str, list[str]]:
    """Returns the names of frazil.numpy and its submodules that NumPy also has."""
    parts = {"": fnp, **{part: getattr(fnp, part) for part in NAMESPACES if part}}
    return {part: sorted(public(module), key=str.lower) for part, module in parts.items()}


def full(part: str, name: str) -> str:
    return f"{part}.{name}" if part else name


def kind(name: str) -> str:
    """Returns the kind of a name of frazil.numpy."""
    value = getattr(fnp, name)
    if isinstance(value, fnp.ufunc):
        return "functions by elements, with `out`, `where`, `dtype` and the methods of ufuncs"
    if isinstance(value, type) and issubclass(value, numpy.generic):
        return "element types"
    return "functions, classes and constants"


def lines() -> list[str]:
    different = {name for names in DIFFERS.values() for name in names.split()}
    rows: dict[str, list[str]] = {}
    for part, names in ours().items():
        for name in names:
            if full(part, name) not in different:
                rows.setdefault(f"`{part}`" if part else kind(name), []).append(name)
    made = ["| there | names |", "|---|---|"]
    made += [f"| {what} | {' '.join(f'`{name}`' for name in names)} |" for what, names in sorted(rows.items())]
    for title, table in (("differs", DIFFERS), ("not there", ABSENT)):
        made += ["", f"| {title} | names |", "|---|---|"]
        made += [f"| {why} | {' '.join(f'`{name}`' for name in names.split())} |" for why, names in table.items()]
    return made


def unexplained() -> list[str]:
    """Returns names of the installed NumPy without an entry in a table, and wrong entries of the tables."""
    explained = {name for names in ABSENT.values() for name in names.split()}
    there = {full(part, name) for part, names in ours().items() for name in names}
    there |= {"linalg", "fft", "random", "testing"}
    missing = []
    for part in NAMESPACES:
        module = getattr(numpy, part) if part else numpy
        names = [full(part, name) for name in dir(module) if not name.startswith("_")]
        missing += [name for name in names if name not in explained | there]
    different = {name for names in DIFFERS.values() for name in names.split()}
    return sorted(missing) + sorted(different - there) + sorted(explained & there)


def main() -> int:
    warnings.simplefilter("ignore")
    block = "\n".join([BEGIN, *lines(), END])
    if sys.argv[1:] == []:
        print(block)
        return 0
    text = PAGE.read_text()
    before, _, rest = text.partition(BEGIN)
    after = rest.partition(END)[2]
    if sys.argv[1:] == ["--write"]:
        PAGE.write_text(before + block + after)
        return 0
    wrong = unexplained()
    if wrong:
        print(f"names of NumPy that scripts/numpy_names.py does not explain, or wrongly: {', '.join(wrong)}")
    if text != before + block + after:
        print("docs/reference/python.md has another table of NumPy's names: run scripts/numpy_names.py --write")
    return int(bool(wrong) or text != before + block + after)


if __name__ == "__main__":
    sys.exit(main())
