#!/usr/bin/env bash
# Runs the examples of this folder, which a build folder has, and prints a table of what they say: run.sh BUILD
set -euo pipefail
source=$(dirname "${BASH_SOURCE[0]}")
build=${1:?"usage: $0 BUILD"}

rows=()
for example in "$source"/*.cc; do
  name=$(basename "$example" .cc)
  echo "---- $name ----"
  said=$("$build/lazy_$name")
  echo "${said%$'\n'*}"
  rows+=("${said##*$'\n'}")
done
echo
{
  echo "| example | of what | lazy | fixed | lazy ms | fixed ms | times as fast |"
  printf '%s\n' "${rows[@]}"
} | sed 's/^| //; s/ |$//' | column -t -s '|'
