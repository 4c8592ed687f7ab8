#!/usr/bin/env bash
# Installs a build and builds programs against it, as users would: check_install.sh BUILD
#
# For the shared library, if there is one, and for the archive: a program in C++ with custom operators, a program of a
# project without C++, the same by pkg-config and plain cc, and a server with a function in C++. Each must run, and find
# the code generator. The server is also built by pkg-config.
set -euo pipefail
source=$(cd "$(dirname "$0")/.." && pwd)
build=${1:?usage: check_install.sh BUILD}
work=$(mktemp -d)
server=
trap '[ -z "$server" ] || kill "$server" 2>/dev/null || true; rm -rf "$work"' EXIT
prefix=$work/prefix
cmake --install "$build" --prefix "$prefix" >/dev/null
jit=$(find "$prefix" -name libfrazil_jit.so)
PKG_CONFIG_PATH=$(dirname "$(find "$prefix" -name frazil.pc)")
export PKG_CONFIG_PATH
kinds=static
[ -z "$(find "$prefix" -name 'libfrazil.so')" ] || kinds="shared static"

# The code cache is empty: a full one would hide that a program finds no code generator.
with_jit() { FRAZIL_CODE_CACHE=$work/code.$RANDOM FRAZIL_TIER=${jit:+1} "$@"; }
project() {  # project NAME KIND: configures and builds examples/NAME
  local statics=OFF
  [ "$2" = shared ] || statics=ON
  cmake -S "$source/examples/$1" -B "$work/$1.$2" -DCMAKE_PREFIX_PATH="$prefix" -DCMAKE_BUILD_TYPE=Release \
    -Dfrazil_USE_STATIC_LIBS=$statics >/dev/null
  cmake --build "$work/$1.$2" >/dev/null
}
linked() {  # linked PROGRAM KIND: the program uses the library of that kind
  local uses=static
  readelf -d "$1" | grep -q 'NEEDED.*libfrazil\.so\.' && uses=shared
  [ $uses = "$2" ] || { echo "$1: links the $uses library, expected the $2 one" >&2; exit 1; }
  with_jit "$1" >/dev/null 2>"$work/log" || { cat "$work/log" >&2; echo "$1: failed" >&2; exit 1; }
  ! grep -q "without machine code" "$work/log" || { cat "$work/log" >&2; exit 1; }
}
c_program() {  # c_program KIND: by pkg-config and cc
  local package=frazil
  [ "$1" = shared ] || package=frazil-static
  # shellcheck disable=SC2046
  cc -std=c11 "$source/examples/c_api/main.c" -o "$work/main.$1" $(pkg-config --cflags --libs $package) \
    -Wl,-rpath,"$(dirname "$(find "$prefix" -name libfrazil.a)")"
  linked "$work/main.$1" "$1"
}
serve() {  # serve KIND: asks a server that has a function of its own
  project host_function "$1"
  mkdir -p "$work/models"
  cp "$source/examples/digits/model.onnx" "$source/examples/host_function/digits.yaml" "$work/models"
  : >"$work/server.log"
  "$work/host_function.$1/host_function" "$work/models" 2>"$work/server.log" & server=$!
  for _ in $(seq 100); do grep -q ^listening "$work/server.log" && break; sleep 0.1; done
  local port bytes answer
  port=$(sed -n 's/^listening .*://p' "$work/server.log")
  bytes=$(seq -s , 0 63)
  answer=$(curl -s "localhost:$port/v2/models/digits/infer" \
    -d '{"inputs":[{"name":"bytes","datatype":"UINT8","shape":[1,1,8,8],"data":['"$bytes"']}]}')
  [[ $answer =~ \"data\":\[[0-9]\] ]] ||
    { cat "$work/server.log" >&2; echo "host_function: answers $answer" >&2; exit 1; }
  kill -TERM "$server"
  wait "$server" || { echo "host_function: ends with $?" >&2; exit 1; }
  server=
}

server_program() {  # by pkg-config and c++
  # shellcheck disable=SC2046
  c++ -std=c++23 "$source/examples/host_function/main.cc" -o "$work/server_program" $(pkg-config --cflags --libs frazil-server) \
    -Wl,-rpath,"$(dirname "$(find "$prefix" -name libfrazil.a)")"
  grep -q "$work/none: No such file" <<<"$("$work/server_program" "$work/none" 2>&1)" || { echo "server_program: fails" >&2; exit 1; }
}

for kind in $kinds; do
  project consumer "$kind"
  ctest --test-dir "$work/consumer.$kind" --output-on-failure | grep '% tests passed'
  linked "$work/consumer.$kind/consumer" "$kind"
  project c_api "$kind"
  linked "$work/c_api.$kind/c_api" "$kind"
  c_program "$kind"
  [ -z "$(find "$prefix" -name frazil-server.pc)" ] || serve "$kind"
  echo "$kind: C++, C, pkg-config and the server"
done
[ -z "$(find "$prefix" -name frazil-server.pc)" ] || server_program

version=$("$prefix/bin/frazil" --version)
echo "$version"
for file in man/man1/frazil.1 bash-completion/completions/frazil zsh/site-functions/_frazil; do
    [ -s "$prefix/share/$file" ] || { echo "$file is not installed" >&2; exit 1; }
done
if [ -n "$jit" ]; then
  grep -q "$prefix/.*/libfrazil_jit.so" <<<"$version"
  FRAZIL_CODE_GENERATOR="$work/none.so" "$prefix/bin/frazil" --version 2>&1 |
    grep -q "^code generator: none: .*$work/none.so"
fi
