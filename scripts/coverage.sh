#!/usr/bin/env bash
# Builds the tests with Clang's line counters, runs them, and prints the share of executed lines by folder of src/.
# Arguments: folders (onnx, ir, ...) whose files are listed separately.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

build=build-coverage
profile=$build/profile
for tool in clang++-19 llvm-profdata-19 llvm-cov-19; do
  command -v "$tool" >/dev/null || {
    echo "$0: no $tool; run scripts/install-deps.sh --dev" >&2
    exit 2
  }
done

cmake --preset coverage >/dev/null
cmake --build "$build"
rm -rf "$profile" && mkdir -p "$profile"
LLVM_PROFILE_FILE="$PWD/$profile/%p.profraw" ctest --test-dir "$build" --output-on-failure --parallel "$(nproc)" -R '^test\.'

llvm-profdata-19 merge -sparse "$profile"/*.profraw -o "$profile/all.profdata"
mapfile -t programs < <(find "$build/tests" "$build/frazil" -maxdepth 1 -type f -executable)
objects=()
for program in "${programs[@]:1}"; do objects+=(-object "$program"); done
llvm-cov-19 export -summary-only -instr-profile "$profile/all.profdata" "${programs[0]}" "${objects[@]}" |
  python3 scripts/coverage_table.py "$PWD/src" "$@"
