#!/usr/bin/env bash
# Measures this build against ONNX Runtime, and what its overhead, new shapes and loading cost.
#
#   bench/run.sh [BUILD]     BUILD is build unless given; writes BUILD/bench/overhead.json
#
#   FRAZIL_WORKLOADS  the folder of the models, build/workloads unless given
#   FRAZIL_PEER       libonnxruntime.so.1; fetched to build/peer unless given
#   FRAZIL_CPU        the core to pin to; the last one unless given, none to leave it to the system
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

build=${1:-build}
program=$build/bench/overhead
workloads=${FRAZIL_WORKLOADS:-build/workloads}
models=(floor_add chain100 mlp_tiny loop_tiny if_chain if_in_loop loop_rnn ew_64)

[[ -x $program ]] || { echo "bench/run.sh: no $program; run make build" >&2; exit 2; }

missing=()
for model in "${models[@]}"; do
  [[ -e $workloads/$model.onnx ]] || missing+=("$model.onnx")
done
if ((${#missing[@]} > 0)); then
  cat >&2 <<END
bench/run.sh: no ${missing[*]} in $workloads

The models are no part of this tree. Put them there, or name their folder:

  FRAZIL_WORKLOADS=/path/to/models make bench

bench/workloads.h lists every model's inputs and their extents. What needs no model runs without them:

  $program --no-peer shapes load
END
  exit 2
fi

if [[ -z ${FRAZIL_PEER:-} ]]; then
  FRAZIL_PEER=$(scripts/fetch_peer.sh) || {
    echo "bench/run.sh: no peer; set FRAZIL_PEER to a libonnxruntime.so.1" >&2
    exit 2
  }
fi
export FRAZIL_PEER

pin=()
cpu=${FRAZIL_CPU:-$(($(nproc) - 1))}
[[ $cpu == none ]] || ! command -v taskset >/dev/null || pin=(taskset -c "$cpu")
exec ${pin[@]+"${pin[@]}"} "$program" "$workloads" --json "$build/bench/overhead.json"
