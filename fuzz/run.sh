#!/usr/bin/env bash
# Runs the fuzzers one after the other.
#
#   fuzz/run.sh [BUILD]     BUILD is build-fuzz unless given
#
#   FUZZ_SECONDS  for each, 60 unless given
#   TARGET        one of them; all unless given
#
# BUILD/corpus/<target> keeps what was learnt, BUILD/findings/<target> what was found and the logs.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

build=${1:-build-fuzz}
seconds=${FUZZ_SECONDS:-60}
most_findings=5

# What a target needs beyond the usual: its largest input in bytes, and options.
declare -A max_len=([import_fuzz]=16384 [text_fuzz]=8192 [npy_fuzz]=2048 [pb_fuzz]=4096 [graph_fuzz]=1024 [infer_fuzz]=2048 [grpc_fuzz]=2048 [connection_fuzz]=2048)
# Graphs whose extents are long texts, written and read back, take up to 270 s under sanitizers and coverage counts.
declare -A options=([import_fuzz]=-close_fd_mask=2 [graph_fuzz]=-timeout=900)
usual=(-timeout=60 -rss_limit_mb=2560 -print_final_stats=1 -reload=0 -verbosity=1)

targets=()
for program in "$build"/fuzz/*_fuzz; do
  name=${program##*/}
  [[ -x $program && ${TARGET:-$name} == "$name" ]] && targets+=("$name")
done
if ((${#targets[@]} == 0)); then
  echo "fuzz/run.sh: no ${TARGET:-*_fuzz} in $build/fuzz; run make fuzz" >&2
  exit 2
fi

symbolizer=$(command -v llvm-symbolizer-19 || true)
export ASAN_OPTIONS=${ASAN_OPTIONS:-allocator_may_return_null=1}${symbolizer:+:external_symbolizer_path=$symbolizer}
export UBSAN_OPTIONS=${UBSAN_OPTIONS:-print_stacktrace=1}

seeds=$build/seeds
"$build/fuzz/make_corpus" "$seeds"

# 0 for a process that was killed before it printed any.
stat_of() { sed -nE "s/^stat::$1: +([0-9]+).*/\1/p" "$2" | awk '{n = $1} END {print n + 0}'; }

# Until the time is over: a finding ends a process, and the next goes on.
run_target() {
  local name=$1 end=$((SECONDS + seconds)) executions=0 units=0 findings=0 log status
  local corpus=$build/corpus/$name found=$build/findings/$name
  mkdir -p "$corpus" "$seeds/$name" "$found"
  local arguments=("${usual[@]}" -max_len="${max_len[$name]:-4096}" -artifact_prefix="$found/" ${options[$name]:-})
  [[ -e $seeds/$name.dict ]] && arguments+=(-dict="$seeds/$name.dict")
  while ((SECONDS < end && findings < most_findings)); do
    log=$found/log-$(date +%Y%m%d-%H%M%S)-$findings.txt
    status=0
    "$build/fuzz/$name" "${arguments[@]}" -max_total_time=$((end - SECONDS)) "$corpus" "$seeds/$name" \
      >"$log" 2>&1 || status=$?
    executions=$((executions + $(stat_of number_of_executed_units "$log")))
    units=$((units + $(stat_of new_units_added "$log")))
    ((status == 0)) && break
    findings=$((findings + 1))
    grep -m1 -E 'FINDING|ERROR: |runtime error|SUMMARY' "$log" >&2 || echo "$name ended with $status" >&2
    echo "  log: $log" >&2
  done
  echo "$name: $executions executions, $units new units, $findings findings"
  ((findings == 0))
}

failed=0
for name in "${targets[@]}"; do
  run_target "$name" || failed=1
done
exit "$failed"
