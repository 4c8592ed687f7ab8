#!/usr/bin/env bash
# Checks formatting, the rules of the source tree and clang-tidy, cheapest first. Arguments: the sources to lint
# (default: all).
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

tidy=$(command -v clang-tidy-19) || {
  echo "$0: no clang-tidy-19; run scripts/install-deps.sh --dev" >&2
  exit 2
}

scripts/format.sh --check
for check in layers operator_names python_imports sizes; do
  python3 "scripts/check_$check.py"
done

sources=("$@")
if ((${#sources[@]} == 0)); then
  mapfile -t sources < <(find src govern server compat tool -name '*.cc' | sort)
fi
cmake --preset release -B build-lint -DCMAKE_UNITY_BUILD=OFF -DCMAKE_DISABLE_PRECOMPILE_HEADERS=ON >/dev/null
cmake --build build-lint --target frazil_code_version_header >/dev/null  # backend.cc includes it
scripts/check_unity.sh
printf '%s\0' "${sources[@]}" | xargs -0 -n 1 -P "$(nproc)" "$tidy" -p build-lint --quiet
