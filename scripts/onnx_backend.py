#!/usr/bin/env python3
"""Runs ONNX's backend tests (onnx.backend.test) on Frazil. Prints which passed, failed or were skipped, with reasons.

PYTHONPATH=build/python scripts/onnx_backend.py [--only PATTERN] [--failed]

Needs the package onnx. EXCLUDED lists the tests that are not run, with reasons.
"""

import argparse
import collections
import logging
import sys
import unittest
import warnings

import numpy

if "object" not in vars(numpy):
    numpy.object = object  # onnx 1.12 uses this name, which NumPy 1.24 lacks

import onnx
import onnx.backend.test

from frazil.backend import FrazilBackend

EXCLUDED = [
    (r"^test_(bvlc|densenet|inception|resnet50|shufflenet|squeezenet|vgg19|zfnet)", "a real network: needs a download"),
    (r"^test_bernoulli", "random numbers"),
    (r"^test_gradient_of", "Frazil does not train"),
    (r"^test_loop16_seq_none", "the test asks for the length of None"),
    (r"^test_adam_multiple", "onnx 1.12: the model lacks the attribute 'epsilon' that its outputs were made with"),
    (r"^test_dft_inverse", "onnx 1.12: the outputs are of f64, with zeros that f32 cannot reach"),
    (r"^test_castlike_(BFLOAT16|FLOAT)_to_(BFLOAT16|FLOAT)_", "onnx 1.12: the shape of 'like' is not the declared one"),
]


class Result(unittest.TestResult):
    """A test result that also stores the names of tests that passed."""

    def __init__(self):
        super().__init__()
        self.passed = []

    def addSuccess(self, test):
        super().addSuccess(test)
        self.passed.append(test)


def suite_of(only):
    runner = onnx.backend.test.BackendTest(FrazilBackend, __name__)
    for pattern, _ in EXCLUDED:
        runner.exclude(pattern)
    if only:
        runner.include(only)
    suite = unittest.TestSuite()
    for case in runner.test_cases.values():
        suite.addTests(unittest.defaultTestLoader.loadTestsFromTestCase(case))
    return suite


def reason_of(text):
    """Returns the reason why a test was skipped; for tests in EXCLUDED, the reason given there."""
    for pattern, why in EXCLUDED:
        if f'"{pattern}"' in text:
            return why
    return text


def last_line(trace):
    return next((line.strip() for line in reversed(trace.splitlines()) if line.strip()), "")[:200]


def run(only=None):
    """Runs the tests. Returns the result, and the reasons of skipped tests with their counts."""
    logging.disable(logging.WARNING)
    warnings.simplefilter("ignore")
    result = Result()
    suite_of(only).run(result)
    return result, collections.Counter(reason_of(why) for _, why in result.skipped)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only", help="tests whose names have this pattern")
    parser.add_argument("--failed", action="store_true", help="print whole traces of failed tests")
    options = parser.parse_args()
    result, reasons = run(options.only)
    wrong = [*result.failures, *result.errors]
    for test, trace in sorted(wrong, key=lambda row: row[0].id()):
        name = test.id().split(".")[-1]
        print(f"FAILED {name}: {trace if options.failed else last_line(trace)}")
    print(f"onnx {onnx.__version__}: {len(result.passed)} passed, {len(wrong)} failed, {len(result.skipped)} skipped")
    for why, count in sorted(reasons.items()):
        print(f"  {count} skipped: {why}")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
