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
version=$("$work/prefix/bin/frazil" --version)
echo "$version"
for file in man/man1/frazil.1 bash-completion/completions/frazil zsh/site-functions/_frazil; do
    [ -s "$work/prefix/share/$file" ] || { echo "$file is not installed" >&2; exit 1; }
done
# Programs inside and outside the prefix must find the code generator. The code cache is empty: a full one would hide a
# failure.
if [ -n "$(find "$work/prefix" -name libfrazil_jit.so)" ]; then
    FRAZIL_TIER=1 FRAZIL_CODE_CACHE="$work/code" "$work/consumer/consumer"
    echo "$version" | grep -q "$work/prefix/.*/libfrazil_jit.so"
    FRAZIL_CODE_GENERATOR="$work/none.so" "$work/prefix/bin/frazil" --version 2>&1 | grep -q "^code generator: none: .*$work/none.so"
fi
