"""Random expressions over frazil.numpy; FRAZIL_EXPRESSIONS is how many of them, by default 300."""

import os
import re

import pytest
from numpy_expressions import Expression, count, judge

COUNT = int(os.environ.get("FRAZIL_EXPRESSIONS", "300"))
BLOCK = 300  # of one test
KNOWN = [  # differences that stay, and why
    r"differs median: no error: ValueError",  # NumPy fails for some arrays without elements
    r"differs (isin|setdiff1d|setxor1d): no error: IndexError",  # NumPy 1 fails for uint64 beside int64
    r"differs (dot|inner|matmul|vdot): other values",  # NumPy's library takes NaN times 0 as 0
    r"differs (allclose|isclose): other values",  # NumPy rounds the tolerance to float16
    r"differs polyval: complex128",  # NumPy 1 rounds coefficients by their values
    r"differs together: no error: ValueError",  # an exponent that has not been computed is not looked at
    r"refused (indexed|take0): IndexError: index -?n of an axis of n",  # NumPy takes nothing and does not look
    r"differs \w+: an error of another kind",  # of two faults NumPy names the other one
]


@pytest.mark.parametrize("block", range(-(-COUNT // BLOCK)))
def test_expressions(block):
    first = block * BLOCK
    verdicts, reasons = count(range(first, min(first + BLOCK, COUNT)))
    wrong = [
        f"{number} times, such as seed {seed}:\n{verdict} {what}\n{Expression(seed)}"
        for verdict, what, number, seed in reasons
        if not any(re.match(pattern, f"{verdict} {what}") for pattern in KNOWN)
    ]
    assert not wrong, "\n".join([str(dict(verdicts)), *wrong])
    assert verdicts["same"] >= 0.99 * sum(verdicts.values()), verdicts


def test_expressions_have_values():
    """Most expressions end in a value, and in several steps."""
    made = [Expression(seed) for seed in range(200)]
    assert sum(not isinstance(each.wanted, Exception) for each in made) > 150
    assert sum(len(each.steps) > 2 for each in made) > 100


def test_a_wrong_function_is_seen(monkeypatch):
    import frazil.numpy as fnp

    monkeypatch.setattr(fnp, "maximum", fnp.minimum)
    assert any(judge(seed)[0] == "differs" and "maximum" in judge(seed)[1] for seed in range(600))
