#!/usr/bin/env bash
# Formats every C++ source in place. With --check, reports the lines that differ, and fails if there are any.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

case "${1:-}" in
  "") mode=(-i) ;;
  --check) mode=(--dry-run --Werror) ;;
  *) echo "usage: $0 [--check]" >&2; exit 2 ;;
esac
formatter=$(command -v clang-format-19) || {
  echo "$0: no clang-format-19; run scripts/install-deps.sh --dev" >&2
  exit 2
}

folders=()
for folder in include src server tool python tests bench examples fuzz; do
  [[ -d $folder ]] && folders+=("$folder")
done
find "${folders[@]}" -name '*.cc' -print0 -o -name '*.h' -print0 | xargs -0r "$formatter" "${mode[@]}"
