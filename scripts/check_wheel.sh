#!/bin/sh
# Installs the wheel of a build into a virtual environment without a network, and uses it: check_wheel.sh BUILD PYTHON
set -eu
source=$(cd "$(dirname "$0")/.." && pwd)
build=${1:?usage: check_wheel.sh BUILD PYTHON}
python=${2:?usage: check_wheel.sh BUILD PYTHON}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
unset PYTHONPATH
"$python" -m venv --system-site-packages "$work/venv"
FRAZIL_BUILD=$build "$work/venv/bin/pip" install -q --no-index --no-cache-dir --disable-pip-version-check "$source"
cd "$work"
"$work/venv/bin/python" - "$work" <<'END'
import sys

import frazil

assert frazil.__file__.startswith(sys.argv[1]), frazil.__file__
g = frazil.Graph()
x = g.input("x", "float32", ("N",))
g.output("y", x + 1)
assert g.build()([1, 2]).tolist() == [2, 3]
print("frazil", frazil.__version__, "from its wheel")
END
