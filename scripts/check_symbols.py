#!/usr/bin/env python3
"""Compares the declarations of <frazil/c.h> with the exports of the library: check_symbols.py LIBRARY [NM]

Each function of the header must be defined in the library as a C function. The library must not define any other
function whose name begins with `frazil_`.
"""

import pathlib
import re
import subprocess
import sys

DECLARATION = re.compile(r"^FRAZIL_API\b[^;]*?\b(frazil_\w+)\(", re.M)


def defined(nm, library):
    """Returns the functions that other programs can link to."""
    dynamic = ["-D"] if ".so" in pathlib.Path(library).name else []
    out = subprocess.run([nm, *dynamic, "--defined-only", "-g", library], capture_output=True, text=True, check=True)
    return {line.split()[-1] for line in out.stdout.splitlines() if re.search(r" [TW] frazil_\w+$", line)}


def main():
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    header = pathlib.Path(__file__).resolve().parent.parent / "include/frazil/c.h"
    declared = set(DECLARATION.findall(header.read_text()))
    exported = defined(sys.argv[2] if len(sys.argv) > 2 else "nm", sys.argv[1])
    for name in sorted(declared - exported):
        print(f"{name}: declared in {header.name}, not in the library")
    for name in sorted(exported - declared):
        print(f"{name}: in the library, not declared in {header.name}")
    print(f"{len(declared & exported)} functions of {header.name}")
    sys.exit(0 if declared == exported and declared else 1)


main()
