#!/usr/bin/env bash
# Tests the container of packaging/: test_image.sh BUILD
#
# Creates the file system of packaging/Containerfile by debootstrap, with the command of BUILD. Then runs the ENTRYPOINT
# with CMD as its user. It must become ready, answer a request and exit with 0 on SIGTERM. test_deb.sh tests the unit.
# Needs root, and Debian's packages from a mirror.
set -euo pipefail

build=$(realpath "${1:?usage: $0 BUILD}")
source=$(realpath "$(dirname "$0")/..")
containerfile=$source/packaging/Containerfile
root=$build/image
command -v debootstrap >/dev/null || { echo "$0: needs debootstrap: apt-get install debootstrap" >&2; exit 2; }

last_stage() { tac "$containerfile" | sed '/^FROM /q' | tac; }
json_words() { last_stage | sed -n "s/^$1 \[\(.*\)\]/\1/p" | tr -d '",'; }

make_root() {
  local packages
  packages=$(last_stage | sed -e ':a' -e '/\\$/N; s/\\\n//; ta' | sed -n 's/.*--no-install-recommends \([^&]*\)&&.*/\1/p')
  packages=$(tr -s ' ' , <<<"$packages" | sed 's/^,//; s/,$//')
  if [ "$(cat "$root.packages" 2>/dev/null)" != "$packages" ]; then
    rm -rf "$root"
    debootstrap --variant=minbase --include="$packages" bookworm "$root" >"$build/image.log"
    echo "$packages" >"$root.packages"
  fi
  local component
  for component in command jit; do
    DESTDIR=$root cmake --install "$build" --prefix /usr --strip --component $component >/dev/null
  done
  mkdir -p "$root/usr/share/doc/frazil"
  python3 "$source/scripts/make_sbom.py" "$build" --name frazil --version 0 --part command --part jit \
    -o "$root/usr/share/doc/frazil/sbom.cdx.json"
  python3 "$source/scripts/check_sbom.py" "$root/usr/share/doc/frazil/sbom.cdx.json"
  grep -q ^frazil: "$root/etc/passwd" || chroot "$root" useradd --system --uid 10001 --no-create-home --shell /usr/sbin/nologin frazil
}

# start NAME PORT MODELS USER COMMAND...: starts the command, waits until it is ready, sends a request and stops it.
start() {
  local name=$1 port=$2 models=$3 user=$4
  shift 4
  mkdir -p "$root$models"
  cp "$model" "$root$models/double.onnx"
  unshare --mount --pid --fork --kill-child bash -c '
    mount --bind "$0" "$0" && mount -t proc proc "$0/proc" && mount -t tmpfs tmpfs "$0/tmp"
    [ -e "$0/dev/null" ] || mount --rbind /dev "$0/dev"
    exec chroot --userspec="$1" "$0" "${@:2}"' "$root" "$user" "$@" 2>"$build/image.$name.log" &
  local server=$! status=
  for _ in $(seq 100); do
    sleep 0.2
    status=$(curl -s -o /dev/null -w '%{http_code}' "localhost:$port/v2/health/ready" || true)
    [ "$status" = 200 ] && break
    kill -0 "$server" 2>/dev/null || break
  done
  [ "$status" = 200 ] || { cat "$build/image.$name.log" >&2; echo "$name: not ready" >&2; exit 1; }
  local answer
  answer=$(curl -s "localhost:$port/v2/models/double/infer" \
    -d '{"inputs":[{"name":"x","datatype":"FP32","shape":[1,2],"data":[1,2]}]}')
  [[ $answer == *'"data":[2,4]'* ]] || { echo "$name: answers $answer" >&2; exit 1; }
  kill -TERM "$(tr -d ' ' <"/proc/$server/task/$server/children")"
  wait "$server" || { echo "$name: ends with $?" >&2; exit 1; }
  echo "$name: ready, answers, ends"
}

model=$build/image.onnx
python3 "$source/scripts/double_model.py" "$model"
make_root

eval "$(last_stage | sed -n 's/^ENV \(.*\)/export \1/p')"
# shellcheck disable=SC2046
start container 8080 /mnt/models "$(last_stage | sed -n 's/^USER //p')" $(json_words ENTRYPOINT) $(json_words CMD)
