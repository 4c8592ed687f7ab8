#!/usr/bin/env bash
# Runs the tests of a build, and prints one line about skipped tests: run_tests.sh BUILD [ctest's options]
set -euo pipefail

build=${1:?usage: $0 BUILD [option of ctest...]}
rm -rf "$build/tests/results"
export LSAN_OPTIONS=${LSAN_OPTIONS:-suppressions=$(realpath "$(dirname "$0")")/../tests/lsan.supp:print_suppressions=0}
export TSAN_OPTIONS=${TSAN_OPTIONS:-suppressions=$(realpath "$(dirname "$0")")/../tests/tsan.supp}
export FRAZIL_CODE_CACHE=${FRAZIL_CODE_CACHE:-$(realpath "$build")/tests/code}
status=0
# A test that hangs fails, and its output says where.
ctest --test-dir "$build" --output-on-failure --parallel "$(nproc)" --timeout "${FRAZIL_TEST_TIMEOUT:-1200}" "${@:2}" || status=$?
python3 "$(dirname "$0")/skipped_tests.py" "$build/tests/results"
exit "$status"
