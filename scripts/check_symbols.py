#!/usr/bin/env python3
"""Compares the declarations of <frazil/c.h> with the exports of the library: check_symbols.py LIBRARY [NM]

Each function of the header must be defined in the library as a C function. The library must not define any other
function whose name begins with `frazil_`. A shared library must export nothing else but namespace frazil, and its
SONAME must be libfrazil.so.MAJOR of the project's version.
"""

import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
DECLARATION = re.compile(r"^FRAZIL_API\b[^;]*?\b(frazil_\w+)\(", re.M)
# An encoding, by the Itanium ABI, of a member of namespace frazil, or of its tables, guards and static variables.
OURS = re.compile(r"frazil_\w+$|_Z(T[HISTVW]|TC|T[hv][n0-9_]+|GV|GR|GVZ|Z)?N[KOR]*6frazil")


def output(*command):
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout


def exports(nm, library, shared):
    """Returns pairs of the kind and the name of each symbol that other programs can link to."""
    lines = output(nm, *(["-D"] if shared else []), "--defined-only", "-g", library).splitlines()
    return {(fields[-2], fields[-1]) for fields in map(str.split, lines) if len(fields) >= 3}


def complaints(library, nm):
    shared = ".so" in pathlib.Path(library).name
    symbols = exports(nm, library, shared)
    headers = [ROOT / "include/frazil" / name for name in ("c.h", "c_policy.h")]
    declared = {name for header in headers for name in DECLARATION.findall(header.read_text())}
    shown = " and ".join(header.name for header in headers)
    defined = {name for kind, name in symbols if kind in "TW" and name.startswith("frazil_")}
    yield from (f"{name}: declared in {shown}, not in the library" for name in sorted(declared - defined))
    yield from (f"{name}: in the library, not declared in {shown}" for name in sorted(defined - declared))
    if shared:
        others = sorted(name for _, name in symbols if not OURS.match(name))
        yield from (f"{name}: exported, although it is not of namespace frazil" for name in others)
        major = re.search(r"project\(frazil VERSION (\d+)", (ROOT / "CMakeLists.txt").read_text())[1]
        soname = re.findall(r"\(SONAME\).*\[(.+)\]", output("readelf", "-d", library))
        if soname != [f"libfrazil.so.{major}"]:
            yield f"{library}: its SONAME is {soname or 'missing'}, expected libfrazil.so.{major}"
    print(f"{len(declared & defined)} functions of {shown}, {len(symbols)} symbols")


def main():
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    found = list(complaints(sys.argv[1], sys.argv[2] if len(sys.argv) > 2 else "nm"))
    print("\n".join(found), end="\n" if found else "")
    sys.exit(1 if found else 0)


main()
