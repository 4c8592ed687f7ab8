"""Debian packages of files and their licences, for check_packages.py and make_sbom.py."""

import pathlib
import re
import subprocess


def paths_of(program):
    """Returns the path at which the loader finds each library that a program needs, directly or not."""
    out = subprocess.run(["ldd", program], capture_output=True, text=True, check=True).stdout
    return dict(re.findall(r"(\S+) => (/\S+)", out))


def packages_of(paths):
    """Returns the package of each file that one has. dpkg may list a file under its path without /usr."""
    asked = {}
    for path in paths:
        for form in (str(pathlib.Path(path).resolve()), str(path)):
            asked[form] = asked[form.removeprefix("/usr")] = path
    found, forms = {}, sorted(asked)
    for begin in range(0, len(forms), 500):
        out = subprocess.run(["dpkg-query", "-S", *forms[begin : begin + 500]], capture_output=True, text=True)
        for line in out.stdout.splitlines():
            package, _, file = line.partition(": ")
            if file in asked and not package.startswith("diversion by"):
                found[asked[file]] = package.split(",")[0]
    return found


def package_of(path):
    """Returns the package of a file, without its architecture."""
    found = packages_of([path])
    if path not in found:
        raise SystemExit(f"{path}: no package has it")
    return found[path].split(":")[0]


def facts_of(package):
    """Returns the name, version, architecture, source and source version of an installed package."""
    form = "${Package}\t${Version}\t${Architecture}\t${source:Package}\t${source:Version}"
    out = subprocess.run(["dpkg-query", "-W", "-f", form, package], capture_output=True, text=True, check=True).stdout
    return out.split("\t")


def licences_of(name):
    """Returns the licence of most files, or None, and the names of all, as far as the copyright file is in the form of
    copyright-format/1.0."""
    file = pathlib.Path(f"/usr/share/doc/{name}/copyright")
    text = file.read_text(errors="replace") if file.is_file() else ""
    if not re.match(r"(?i)format(-specification)?:", text):
        return None, []
    main, every = None, []
    for stanza in re.split(r"\n\s*\n", text):
        licence = re.search(r"(?im)^License:[ \t]*(\S.*)$", stanza)
        files = re.search(r"(?im)^Files:[ \t\n]*(\S.*)$", stanza)
        if not licence or not files:
            continue
        every.append(licence[1].strip())
        if main is None and files[1].split()[0] == "*":
            main = licence[1].strip()
    return main, sorted(set(every))
