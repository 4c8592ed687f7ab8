#!/usr/bin/env python3
"""Prints in one line which tests of a run were skipped, by reason: skipped_tests.py FOLDER

FOLDER contains GoogleTest's XML files.
"""

import collections
import pathlib
import sys
import xml.etree.ElementTree

if len(sys.argv) != 2:
    sys.exit(__doc__)
reasons = collections.Counter()
for path in sorted(pathlib.Path(sys.argv[1]).glob("*.xml")):
    try:
        tests = xml.etree.ElementTree.parse(path)
    except xml.etree.ElementTree.ParseError as error:  # the test was killed while it wrote the file
        print(f"{path}: {error}", file=sys.stderr)
        continue
    for case in tests.iter("testcase"):
        skipped = case.find("skipped")
        if skipped is not None:  # "file:line", then the reason that the test gives
            said = (skipped.get("message") or "").split("\n", 1)[-1].strip()
            reasons[said or "no reason given"] += 1
total = sum(reasons.values())
each = "; ".join(f"{count}: {reason}" for reason, count in reasons.most_common())
print(f"skipped {total} of the tests{' (' if each else ''}{each}{')' if each else ''}")
