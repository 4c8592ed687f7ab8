#!/usr/bin/env bash
# Makes the wheel and the sdist of a build, and checks the wheel's files: make_wheel.sh BUILD OUT
set -euo pipefail
build=$(realpath "${1:?usage: $0 BUILD OUT}")
out=${2:?usage: $0 BUILD OUT}
source=$(realpath "$(dirname "$0")/..")
mkdir -p "$out"
rm -f "$out"/frazil-*.whl "$out"/frazil-*.tar.gz
python=$(sed -n 's/^Python_EXECUTABLE:[A-Z]*=//p' "$build/CMakeCache.txt")
FRAZIL_BUILD=$build PYTHONPATH=$source/python PYTHONDONTWRITEBYTECODE=1 "$python" -c '
import sys, wheel_backend
wheel_backend.build_wheel(sys.argv[1])
wheel_backend.build_sdist(sys.argv[1])' "$out"
python3 "$source/scripts/check_wheel_files.py" "$out"/frazil-*.whl
bill=$(mktemp -d)
trap 'rm -rf "$bill"' EXIT
python3 -m zipfile -e "$out"/frazil-*.whl "$bill"
python3 "$source/scripts/check_sbom.py" ${SBOM_SCHEMA:+--schema "$SBOM_SCHEMA"} "$bill"/frazil-*.dist-info/sboms/*.json
