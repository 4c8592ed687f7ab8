#!/usr/bin/env bash
# Runs the suite, with ONNX's cases, on each instruction set of this machine: test_isas.sh BUILD [option of the test
# program...]. Each runs with one thread and with several threads that share every step with units.
set -euo pipefail

suite=$(realpath "${1:?usage: $0 BUILD [option of the test program...]}")/tests/frazil_test_suite
log=$(mktemp)
trap 'rm -f "$log"' EXIT
status=0
case $(uname -m) in
  x86_64) isas="base avx2 avx512-vnni-bf16 avx512" ;;
  *) isas="base neon" ;;
esac
for isa in $isas; do
  for threads in 1 3; do
    result=passed
    FRAZIL_ISA=$isa FRAZIL_THREADS=$threads "$suite" --gtest_brief=1 "${@:2}" >"$log" 2>&1 || result=FAILED
    printf '%-16s %s threads: %s; %s\n' "$isa" "$threads" "$result" "$(grep -E '^\[==========\].*ran' "$log" | tail -1)"
    [[ $result == passed ]] && continue
    status=1
    grep -vE '^\[==========\]' "$log" | head -60
  done
done
exit $status
