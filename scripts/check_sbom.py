#!/usr/bin/env python3
"""Validates bills of materials: check_sbom.py [--schema DIR | --fetch DIR] FILE...

Always checks the fields that CycloneDX 1.7 and users of the file need. With DIR, the folder of the schemas that the npm
package @cyclonedx/cyclonedx-library has (res/schema), also validates by the schema; needs python3-jsonschema. `fetch`
downloads that package to DIR first, if it is not there.
"""

import argparse
import json
import pathlib
import re
import subprocess
import sys

LIBRARY = "@cyclonedx/cyclonedx-library@10.3.0"


def fetch(folder):
    """Returns the folder of the schemas."""
    schemas = folder / "package/res/schema"
    if not schemas.is_dir():
        folder.mkdir(parents=True, exist_ok=True)
        name = subprocess.run(
            ["npm", "pack", "--silent", "--pack-destination", folder, LIBRARY], capture_output=True, text=True, check=True
        ).stdout.split()[-1]
        subprocess.run(["tar", "-C", folder, "-xf", folder / name], check=True)
    return schemas


def validator(schemas):
    import jsonschema

    main = json.loads((schemas / "bom-1.7.SNAPSHOT.schema.json").read_text())
    others = {}
    for path in schemas.glob("*.schema.json"):
        text = json.loads(path.read_text())
        base = main["$id"].rsplit("/", 1)[0]
        others[text.get("$id", path.name)] = others[f"{base}/{path.name}"] = text
    resolver = jsonschema.RefResolver.from_schema(main, store=others)
    return jsonschema.Draft7Validator(main, resolver=resolver)


def structure(bom):
    """Yields what is missing or wrong without the schema."""
    for field, value in (("bomFormat", "CycloneDX"), ("specVersion", "1.7"), ("version", 1)):
        if bom.get(field) != value:
            yield f"{field} is {bom.get(field)!r}, expected {value!r}"
    if not re.fullmatch(r"urn:uuid:[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}", str(bom.get("serialNumber"))):
        yield "serialNumber is not a URN of a UUID"
    refs = [c.get("bom-ref") for c in bom.get("components", [])]
    if not refs:
        yield "there are no components"
    if len(refs) != len(set(refs)):
        yield "two components have the same bom-ref"
    for component in bom.get("components", []):
        missing = [field for field in ("type", "name", "version", "purl", "bom-ref") if not component.get(field)]
        if missing:
            yield f"component {component.get('name')}: {', '.join(missing)} missing"
    known = {*refs, bom.get("metadata", {}).get("component", {}).get("bom-ref")}
    for dependency in bom.get("dependencies", []):
        for ref in {dependency["ref"], *dependency.get("dependsOn", [])} - known:
            yield f"dependency {ref} is not a component"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--schema", type=pathlib.Path)
    parser.add_argument("--fetch", type=pathlib.Path)
    parser.add_argument("files", nargs="+", type=pathlib.Path)
    options = parser.parse_args()
    schemas = fetch(options.fetch) if options.fetch else options.schema
    schema = validator(schemas) if schemas else None
    failed = False
    for file in options.files:
        bom = json.loads(file.read_text())
        found = list(structure(bom))
        found += [f"{'/'.join(map(str, e.path))}: {e.message}"[:300] for e in (schema.iter_errors(bom) if schema else [])]
        for problem in found:
            print(f"{file}: {problem}")
        licensed = sum(1 for c in bom["components"] if c.get("licenses"))
        by = "the schema" if schema else "its fields; the schema was not checked"
        print(f"{file.name}: {len(bom['components'])} components, {licensed} with a licence; checked by {by}")
        failed |= bool(found)
    sys.exit(1 if failed else 0)


main()
