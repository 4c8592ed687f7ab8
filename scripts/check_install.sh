#!/bin/sh
# Installs a build and builds examples/consumer against it, as a user would: check_install.sh BUILD
set -eu
source=$(cd "$(dirname "$0")/.." && pwd)
build=${1:?usage: check_install.sh BUILD}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cmake --install "$build" --prefix "$work/prefix" >/dev/null
cmake -S "$source/examples/consumer" -B "$work/consumer" -DCMAKE_PREFIX_PATH="$work/prefix" -DCMAKE_BUILD_TYPE=Release >/dev/null
cmake --build "$work/consumer"
ctest --test-dir "$work/consumer" --output-on-failure
"$work/prefix/bin/frazil" --version
