#!/usr/bin/env python3
"""Writes the bill of materials of a package, CycloneDX 1.7 in JSON:

    make_sbom.py BUILD --name NAME --version VERSION --part PART... [--copied] -o FILE

PART is command, library, jit, python, onnxruntime or archive. The components come from the build: Debian packages of the shared
libraries that the parts' files need (ldd), of the archives in their link commands, and of the headers that their
sources include (ninja); for the command also the JavaScript libraries of its page. `copied`: the package contains the
shared libraries. Licences are those of /usr/share/doc/*/copyright, as far as these are machine readable.
"""

import argparse
import datetime
import json
import os
import pathlib
import re
import subprocess
import uuid

from debian_packages import facts_of, licences_of, packages_of, paths_of

ROOT = pathlib.Path(__file__).resolve().parent.parent
# Each part has a file in the build, and folders of objects.
PARTS = {
    "command": ("frazil", ("src/", "govern/", "server/", "tool/")),
    "library": ("src/libfrazil.so.*.*.*", ("src/",)),
    "jit": ("libfrazil_jit.so", ("src/",)),
    "python": ("python/frazil/_frazil.*.so", ("python/",)),
    "onnxruntime": ("compat/libonnxruntime.so.*.*", ("src/", "compat/")),
    "archive": (None, ("src/", "server/")),
}
SPDX = {
    "Apache-2.0": "Apache-2.0", "Expat": "MIT", "MIT": "MIT", "Zlib": "Zlib", "zlib": "Zlib", "BSL-1.0": "BSL-1.0",
    "BSD-2-clause": "BSD-2-Clause", "BSD-2-Clause": "BSD-2-Clause", "BSD-3-clause": "BSD-3-Clause",
    "BSD-3-Clause": "BSD-3-Clause", "GPL-2+": "GPL-2.0-or-later", "GPL-2.0+": "GPL-2.0-or-later",
    "GPL-3+": "GPL-3.0-or-later", "LGPL-2.1+": "LGPL-2.1-or-later",
    "APACHE-2-LLVM-EXCEPTIONS": "Apache-2.0 WITH LLVM-exception", "BSD-2-Clause and Apache-2.0": "BSD-2-Clause AND Apache-2.0",
    "BSD-3-clause or GPL-2": "BSD-3-Clause OR GPL-2.0-only",
}


def output(*command):
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout


def archives_of(build, file):
    """Returns the archives outside of the build in the command that links a file."""
    link = output("ninja", "-C", build, "-t", "commands", "-s", file).splitlines()[-1]
    return {path for path in re.findall(r"(/\S+\.a)(?=\s|$)", link) if not path.startswith(f"{build}/")}


def headers_of(build, folders):
    """Returns the headers outside of the tree that the objects in folders of the build include."""
    headers, wanted = set(), False
    for line in output("ninja", "-C", build, "-t", "deps").splitlines():
        if line and not line[0].isspace():
            wanted = line.startswith(folders)
        elif wanted and line.strip().startswith("/usr/"):
            headers.add(line.strip())
    return headers


def licence(name):
    spdx = SPDX.get(name)
    if spdx and " " in spdx:
        return {"expression": spdx}
    return {"license": {"id": spdx} if spdx else {"name": name}}


def component_of(package, how):
    name, version, architecture, source, source_version = facts_of(package)
    purl = f"pkg:deb/debian/{name}@{version.replace('+', '%2B').replace(':', '%3A')}?arch={architecture}&distro=debian-12"
    main, every = licences_of(name)
    component = {"type": "library", "bom-ref": purl, "name": name, "version": version, "purl": purl}
    if main:
        component["licenses"] = [licence(main)]
    properties = [("frazil:linked", how), ("debian:source", f"{source} {source_version}")]
    properties += [("debian:licence", other) for other in every]
    component["properties"] = [{"name": name, "value": value} for name, value in properties]
    return component, source


def debian_components(build, parts, copied):
    """Returns components, each Debian source at most once for headers: they belong to its library."""
    shared, archives, folders = set(), set(), set()
    for part in parts:
        pattern, objects = PARTS[part]
        folders |= set(objects)
        if pattern:
            file = sorted(build.glob(pattern))[0]
            shared |= set(paths_of(file).values())
            archives |= archives_of(build, str(file.relative_to(build)))
    ways = [("copied" if copied else "shared", shared), ("archive", archives), ("headers", headers_of(build, tuple(folders)))]
    components, sources = {}, set()
    for how, paths in ways:
        added = set()
        for package in sorted(set(packages_of(paths).values())):
            component, source = component_of(package, how)
            glibc = copied and source == "glibc"
            if (how == "headers" and source in sources | {"linux"}) or component["bom-ref"] in components or glibc:
                continue
            components[component["bom-ref"]] = component
            added.add(source)
        sources |= added
    return list(components.values())


def page_components(build):
    """Returns the JavaScript libraries that frazil view has in it."""
    for file in sorted((build / "tool/web/node_modules").glob("**/package.json")):
        about = json.loads(file.read_text())
        folder = file.parent.parent
        scoped = folder.name.startswith("@") and folder.parent.name == "node_modules"
        if "version" not in about or not (scoped or folder.name == "node_modules"):
            continue
        purl = f"pkg:npm/{about['name'].replace('@', '%40')}@{about['version']}"
        yield {
            "type": "library", "bom-ref": purl, "name": about["name"], "version": about["version"], "purl": purl,
            "licenses": [licence(about["license"])] if "license" in about else [],
            "properties": [{"name": "frazil:linked", "value": "source"}],
        }


def bill(options):
    components = debian_components(options.build, options.part, options.copied)
    if "command" in options.part:
        components += page_components(options.build)
    root = {
        "type": "application" if "command" in options.part else "library", "bom-ref": f"pkg:generic/{options.name}@{options.version}",
        "name": options.name, "version": options.version, "licenses": [licence("Apache-2.0")],
    }
    epoch = int(os.environ.get("SOURCE_DATE_EPOCH", (ROOT / "CMakeLists.txt").stat().st_mtime))
    content = json.dumps([root, components], sort_keys=True)
    return {
        "$schema": "http://cyclonedx.org/schema/bom-1.7.schema.json",
        "bomFormat": "CycloneDX",
        "specVersion": "1.7",
        "serialNumber": f"urn:uuid:{uuid.uuid5(uuid.NAMESPACE_URL, content)}",
        "version": 1,
        "metadata": {
            "timestamp": datetime.datetime.fromtimestamp(epoch, datetime.timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ"),
            "tools": {"components": [{"type": "application", "name": "make_sbom.py", "version": options.version}]},
            "component": root,
        },
        "components": components,
        "dependencies": [{"ref": root["bom-ref"], "dependsOn": sorted(c["bom-ref"] for c in components)}],
    }


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("build", type=lambda text: pathlib.Path(text).resolve())
    parser.add_argument("--name", required=True)
    parser.add_argument("--version", required=True)
    parser.add_argument("--part", required=True, action="append", choices=PARTS)
    parser.add_argument("--copied", action="store_true")
    parser.add_argument("-o", dest="out", required=True, type=pathlib.Path)
    options = parser.parse_args()
    options.out.write_text(json.dumps(bill(options), indent=1) + "\n")


main()
