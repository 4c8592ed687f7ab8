#!/usr/bin/env bash
# Installs ONNX Runtime, with which the benchmarks compare Frazil, and prints the path of its shared library.
#
#   scripts/fetch_peer.sh [DIR]     default: build/peer; needs npm and a linux/x64 machine
#
# A development dependency: no shipped file links to it. FRAZIL_PEER_VERSION selects another version.
set -euo pipefail

dir=${1:-build/peer}
wanted=${FRAZIL_PEER_VERSION:-1.30}

find_library() {
  find "$dir/node_modules/onnxruntime-node" -path '*/linux/x64/libonnxruntime.so.1' -print -quit 2>/dev/null || true
}

install_peer() {
  npm install --prefix "$dir" --ignore-scripts --no-audit --no-fund --loglevel=error "onnxruntime-node@$1" >&2
}

mkdir -p "$dir"
dir=$(cd "$dir" && pwd)
library=$(find_library)
if [[ -z $library ]]; then
  [[ -e $dir/package.json ]] || printf '{"private": true}\n' >"$dir/package.json"
  install_peer "$wanted" || {
    echo "onnxruntime-node $wanted did not install; trying the latest" >&2
    install_peer latest
  }
  library=$(find_library)
fi
if [[ -z $library ]]; then
  echo "no linux/x64 libonnxruntime.so.1 under $dir" >&2
  exit 1
fi
echo "$library"
