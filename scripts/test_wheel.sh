#!/usr/bin/env bash
# Uses the wheel in a Debian 12 without development packages, whose libraries are those of Python and NumPy alone, and
# builds the sdist: test_wheel.sh BUILD WHEELS [sdist]
#
# Needs root, and Debian's packages from a mirror. With `sdist`, also builds a wheel from the sdist, which takes minutes,
# and uses it in the same way.
set -euo pipefail
build=$(realpath "${1:?usage: $0 BUILD WHEELS [sdist]}")
wheels=$(realpath "${2:?usage: $0 BUILD WHEELS [sdist]}")
source=$(realpath "$(dirname "$0")/..")
# shellcheck source=clean_root.sh
. "$source/scripts/clean_root.sh"
root=$build/wheel-root
trap umount_root EXIT
clean_root
in_root apt-get install -y -q --no-install-recommends python3 python3-venv python3-numpy >"$build/wheel-apt.log"
for library in libtbb12 libspdlog1.10 libre2-9 libboost-context1.74.0 libllvm19; do
  [ -z "$(in_root dpkg-query -W -f '${Status}' $library 2>/dev/null | grep installed || true)" ] ||
    { echo "$library is installed: the test would not show that the wheel needs it" >&2; exit 1; }
done
mkdir "$root/test"
cp "$wheels"/frazil-*.whl "$source/scripts/wheel_program.py" "$source/scripts/numpy_wheel.py" "$root/test"
in_root python3 /test/numpy_wheel.py /test
try_wheel() {  # try_wheel: uses the wheels in /test in a new virtual environment
  in_root python3 -m venv --clear /test/venv
  in_root sh -ec '/test/venv/bin/pip install -q --no-index --no-cache-dir --disable-pip-version-check /test/*.whl'
  in_root /test/venv/bin/python /test/wheel_program.py /test /test jit
}
try_wheel
if [ "${3:-}" = sdist ]; then
  work=$(mktemp -d)
  trap 'umount_root; rm -rf "$work"' EXIT
  tar -C "$work" -xf "$wheels"/frazil-*.tar.gz
  (cd "$work"/frazil-* && "$(sed -n 's/^Python_EXECUTABLE:[A-Z]*=//p' "$build/CMakeCache.txt")" -m pip wheel -q --no-deps --no-index --disable-pip-version-check -w "$work" .)
  python3 "$source/scripts/check_wheel_files.py" "$work"/frazil-*.whl
  rm "$root"/test/frazil-*.whl
  cp "$work"/frazil-*.whl "$root/test"
  try_wheel
fi
