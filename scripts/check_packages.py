#!/usr/bin/env python3
"""Compares the libraries that a program needs with the packages that packaging/ installs: check_packages.py PROGRAM

Each library that the program names (DT_NEEDED) must belong to a package of the second stage of packaging/Containerfile,
and each of those packages must have such a library. Another release of Debian has other versions of the packages, so
that names are compared without their numbers where it is not the Containerfile's.
"""

import pathlib
import re
import subprocess
import sys

CONTAINERFILE = pathlib.Path(__file__).resolve().parent.parent / "packaging/Containerfile"
# In every image, or a part of what the listed packages depend on.
EVERYWHERE = {"libc6", "libgcc-s1"}


def output(*command):
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout


def needed(program):
    return re.findall(r"\(NEEDED\).*\[(.+)\]", output("readelf", "-d", program))


def paths_of(program):
    """Where the loader finds each library."""
    return dict(re.findall(r"(\S+) => (/\S+)", output("ldd", program)))


def package_of(path):
    """The package that has a file, which may be listed at its place before /usr was merged."""
    real = pathlib.Path(path).resolve()
    for candidate in {str(real), str(real).removeprefix("/usr"), path, path.removeprefix("/usr")}:
        found = subprocess.run(["dpkg-query", "-S", candidate], capture_output=True, text=True)
        if found.returncode == 0:
            return found.stdout.split(":")[0]
    sys.exit(f"{path}: no package has it")


def installed():
    """The packages of the image, and the release of Debian that it is of."""
    text = CONTAINERFILE.read_text()
    stage = text[text.rindex("\nFROM "):]
    release = re.search(r"debian:(\d+)", stage)[1]
    names = re.search(r"--no-install-recommends ((?:\\\n|[^&])*)", stage)[1]
    return set(names.replace("\\\n", " ").split()), release


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    listed, release = installed()
    here = re.search(r'^VERSION_ID="?(\d+)', pathlib.Path("/etc/os-release").read_text(), re.M)
    same = here is not None and here[1] == release
    name = (lambda package: package) if same else (lambda package: re.sub(r"[\d.-]+(?=-|$)", "", package))
    paths = paths_of(sys.argv[1])
    packages = {name(package_of(paths[library])) for library in needed(sys.argv[1]) if library in paths}
    packages -= {name(package) for package in EVERYWHERE}
    listed = {name(package) for package in listed}
    for package in sorted(packages - listed):
        print(f"{CONTAINERFILE.name}: {package} is missing, which {sys.argv[1]} needs")
    for package in sorted(listed - packages):
        print(f"{CONTAINERFILE.name}: {package} is not needed by {sys.argv[1]}")
    print(f"{len(packages & listed)} packages")
    sys.exit(0 if packages == listed and packages else 1)


main()
