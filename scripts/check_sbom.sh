#!/usr/bin/env bash
# Validates the bills of materials in the Debian packages and in the wheel by the schema: check_sbom.sh BUILD DEBS WHEELS
set -euo pipefail
build=$(realpath "${1:?usage: $0 BUILD DEBS WHEELS}")
debs=${2:?usage: $0 BUILD DEBS WHEELS}
wheels=${3:?usage: $0 BUILD DEBS WHEELS}
source=$(realpath "$(dirname "$0")/..")
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
for package in "$debs"/*.deb; do
  dpkg-deb -x "$package" "$work/files"
done
for wheel in "$wheels"/*.whl; do python3 -m zipfile -e "$wheel" "$work/files"; done
find "$work/files" -name '*.cdx.json' -print0 |
  xargs -0 /usr/bin/python3 "$source/scripts/check_sbom.py" --fetch "$build/cyclonedx"
