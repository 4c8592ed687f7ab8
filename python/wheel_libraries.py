"""Makes the compiled files of a wheel independent of the machine, with patchelf and the binutils."""

import hashlib
import os
import pathlib
import re
import shutil
import subprocess

# Parts of glibc, which every Linux of a manylinux tag has.
GLIBC = re.compile(r"(ld-linux[\w-]*|lib(c|m|dl|pthread|rt|resolv|util))\.so\.\d+$")


def _output(*command):
    try:
        return subprocess.run(command, capture_output=True, text=True, check=True).stdout
    except FileNotFoundError as error:
        raise SystemExit(f"the wheel needs the program {command[0]}: scripts/install-deps.sh") from error


def compiled_files(folder):
    """Returns the ELF files of a folder."""
    files = (path for path in sorted(folder.rglob("*")) if path.is_file())
    return [path for path in files if path.open("rb").read(4) == b"\x7fELF"]


def _libraries_of(file):
    """Returns the path of each library that a file needs, directly or not, by its name."""
    text = _output("ldd", file)
    missing = re.findall(r"(\S+) => not found", text)
    if missing:
        raise SystemExit(f"{file}: the library {missing[0]} is not on this machine")
    found = re.findall(r"(\S+) => (/\S+)", text)
    return {name: pathlib.Path(path) for name, path in found if not GLIBC.match(name)}


def _copy(source, name, folder):
    """Copies a library under a name with a hash, so that a process may also load another one; returns the copy."""
    digest = hashlib.sha256(source.read_bytes()).hexdigest()[:8]
    stem, rest = name.split(".so", 1)
    copy = folder / f"{stem}-{digest}.so{rest}"
    shutil.copy(source, copy)
    return copy


def bundle(package, folder):
    """Copies the libraries of a package's compiled files to a folder in it. Returns their sources by their new names."""
    files = compiled_files(package)
    sources = {}
    for file in files:
        sources |= _libraries_of(file)
    folder.mkdir()
    copies = {name: _copy(source, name, folder) for name, source in sources.items()}
    for file in [*files, *copies.values()]:
        _output("strip", "--strip-unneeded", file)
        # One change in a call: patchelf 0.14 mixes up several.
        for name in _output("patchelf", "--print-needed", file).split():
            if name in copies:
                _output("patchelf", "--replace-needed", name, copies[name].name, file)
        if file.parent == folder:
            _output("patchelf", "--set-soname", file.name, file)
        to_folder = os.path.relpath(folder, file.parent)
        _output("patchelf", "--set-rpath", "$ORIGIN" if to_folder == "." else f"$ORIGIN/{to_folder}", file)
    return {copies[name].name: source for name, source in sources.items()}


def oldest_glibc(package):
    """Returns the newest version of glibc, as a pair, that a symbol of the compiled files needs."""
    versions = {(2, 17)}
    for file in compiled_files(package):
        needed = re.findall(r"Name: GLIBC_(\d+)\.(\d+)", _output("readelf", "-W", "--version-info", file))
        versions |= {(int(major), int(minor)) for major, minor in needed}
    return max(versions)
