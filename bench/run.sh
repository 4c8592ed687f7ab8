#!/usr/bin/env bash
# Measures this build against ONNX Runtime: every target and its twin; its products and convolutions against oneDNN;
# models of 16-bit floats against f32; then the cost of an observer, new shapes, edits and loading, and the effect of a
# second thread.
#
#   bench/run.sh [BUILD] [ROW...]    BUILD is build unless given; writes targets.json, kernels.json, halves.json,
#                                    overhead.json and threads.json to BUILD/bench. With rows of bench/targets.h, only those
#
#   FRAZIL_WORKLOADS  a folder of models to use instead of those that the program builds in BUILD/workloads
#   FRAZIL_SILERO     the silero voice activity model, for its rows; speech.wav beside it
#   FRAZIL_FACE_DETECTOR  the face detector, for its row
#   FRAZIL_SHARED     the folder with these two in models/silero_vad and models/face_detector; ../shared unless given
#   FRAZIL_PEER       libonnxruntime.so.1; fetched to build/peer unless given
#   FRAZIL_CPU        the core to pin to; the last one unless given, none to leave it to the system
#   THREADS           of both sides; with more than 1 only rows that run are measured, on as many of the last cores, and
#                     written to targets-threads.json
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

build=${1:-build}
shift || true
for program in targets overhead threads; do
  [[ -x $build/bench/$program ]] || { echo "bench/run.sh: no $build/bench/$program; run make bench" >&2; exit 2; }
done

if [[ -z ${FRAZIL_PEER:-} ]]; then
  FRAZIL_PEER=$(scripts/fetch_peer.sh) || {
    echo "bench/run.sh: no peer; set FRAZIL_PEER to a libonnxruntime.so.1" >&2
    exit 2
  }
fi
export FRAZIL_PEER

pin=()
threads=${THREADS:-1}
if ((threads > $(nproc))); then
  echo "bench/run.sh: $threads threads on $(nproc) cores" >&2
  exit 2
fi
cpu=${FRAZIL_CPU:-$(($(nproc) - threads))-$(($(nproc) - 1))}
[[ $cpu == none ]] || ! command -v taskset >/dev/null || pin=(taskset -c "$cpu")

if ((threads > 1)); then
  ${pin[@]+"${pin[@]}"} "$build/bench/targets" --threads "$threads" --json "$build/bench/targets-threads.json" "$@"
  exit
fi

status=0
${pin[@]+"${pin[@]}"} "$build/bench/targets" --json "$build/bench/targets.json" "$@" || status=$?
if (($# == 0 && status < 2)); then
  if [[ -x $build/bench/kernels ]]; then
    ${pin[@]+"${pin[@]}"} "$build/bench/kernels" --json "$build/bench/kernels.json" || status=$?
  else
    echo "bench/run.sh: no $build/bench/kernels, as oneDNN was not found" >&2
  fi
fi
if (($# == 0 && status < 2)); then
  ${pin[@]+"${pin[@]}"} "$build/bench/overhead" "${FRAZIL_WORKLOADS:-$build/workloads}" --no-peer \
    --json "$build/bench/overhead.json" observer shapes stream append edit load || status=$?
fi
if (($# == 0 && status < 2)); then
  ${pin[@]+"${pin[@]}"} "$build/bench/halves" --json "$build/bench/halves.json" || status=$?
fi
if (($# == 0 && status < 2)); then  # on all cores
  "$build/bench/threads" --workloads "${FRAZIL_WORKLOADS:-$build/workloads}" --json "$build/bench/threads.json" || status=$?
fi
exit $status
