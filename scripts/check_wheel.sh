#!/usr/bin/env bash
# Installs the wheel of a build into a virtual environment without a network and without the system's packages, and
# uses it: check_wheel.sh BUILD PYTHON
set -euo pipefail
source=$(cd "$(dirname "$0")/.." && pwd)
build=${1:?usage: check_wheel.sh BUILD PYTHON}
python=${2:?usage: check_wheel.sh BUILD PYTHON}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
unset PYTHONPATH
"$source/scripts/make_wheel.sh" "$build" "$work/wheels"
"$python" "$source/scripts/numpy_wheel.py" "$work/wheels"
"$python" -m venv "$work/venv"
"$work/venv/bin/pip" install -q --no-index --no-cache-dir --disable-pip-version-check "$work"/wheels/*.whl
jit=$([ -f "$build/libfrazil_jit.so" ] && echo jit || true)
cd "$work"
"$work/venv/bin/python" "$source/scripts/wheel_program.py" "$work" "$work" $jit
"$work/venv/bin/pip" uninstall -q -y frazil
left=$(find "$work/venv" -name '*frazil*')
[ -z "$left" ] || { echo "pip uninstall leaves $left" >&2; exit 1; }
# The sdist has what the build needs.
tar -C "$work" -xf "$work"/wheels/frazil-*.tar.gz
for file in CMakeLists.txt src/CMakeLists.txt server/CMakeLists.txt python/wheel_backend.py tool/view/package.json PKG-INFO; do
  [ -f "$work"/frazil-*/"$file" ] || { echo "the sdist has no $file" >&2; exit 1; }
done
