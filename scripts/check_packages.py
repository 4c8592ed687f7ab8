#!/usr/bin/env python3
"""Compares the libraries that a program needs with the packages that packaging/ installs: check_packages.py PROGRAM

Each library that the program names (DT_NEEDED) must belong to a package of the second stage of packaging/Containerfile,
and each of those packages must have such a library. If this machine has another release of Debian than the
Containerfile, package names are compared without version numbers.
"""

import pathlib
import re
import subprocess
import sys

from debian_packages import package_of, paths_of

CONTAINERFILE = pathlib.Path(__file__).resolve().parent.parent / "packaging/Containerfile"
# Packages in every image, or dependencies of the listed packages.
EVERYWHERE = {"libc6", "libgcc-s1"}
# Opened at run time (server/core/curl_library.cc, src/ops/image/tiff_library.cc), and the authorities that libcurl trusts.
OPENED = {"libcurl4", "ca-certificates", "libtiff6"}


def output(*command):
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout


def needed(program):
    return re.findall(r"\(NEEDED\).*\[(.+)\]", output("readelf", "-d", program))


def installed():
    """Returns the packages of the image and its Debian release."""
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
    listed = {name(package) for package in listed - OPENED}
    for package in sorted(packages - listed):
        print(f"{CONTAINERFILE.name}: {package} is missing, which {sys.argv[1]} needs")
    for package in sorted(listed - packages):
        print(f"{CONTAINERFILE.name}: {package} is not needed by {sys.argv[1]}")
    print(f"{len(packages & listed)} packages")
    sys.exit(0 if packages == listed and packages else 1)


main()
