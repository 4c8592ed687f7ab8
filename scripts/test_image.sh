#!/usr/bin/env bash
# Tests the container of packaging/: test_image.sh BUILD
#
# Creates the file system of packaging/Containerfile by debootstrap, with the command of BUILD. Then runs the ENTRYPOINT
# with CMD as its user on a read-only file system. It must become ready, answer a request, listen at the ports of EXPOSE,
# pass HEALTHCHECK and exit with 0 on SIGTERM. test_deb.sh tests the unit. Needs root, and Debian's packages from a mirror.
set -euo pipefail

build=$(realpath "${1:?usage: $0 BUILD}")
source=$(realpath "$(dirname "$0")/..")
containerfile=$source/packaging/Containerfile
root=$build/image
command -v debootstrap >/dev/null || { echo "$0: needs debootstrap: apt-get install debootstrap" >&2; exit 2; }

last_stage() { tac "$containerfile" | sed '/^FROM /q' | tac; }
stage_lines() { last_stage | sed -e ':a' -e '/\\$/N; s/\\\n//; ta'; }
# json_words PREFIX: the words of the instruction in JSON form after PREFIX, a regular expression; each ends with a zero.
json_words() { stage_lines | sed -n "s/^$1 *\(\[.*\]\)$/\1/p" | python3 -c 'import json, sys; print("\0".join(json.load(sys.stdin)), end="\0")'; }
die() { echo "test_image.sh: $*" >&2; exit 1; }
server=
trap '[ -z "$server" ] || kill -9 "$server" 2>/dev/null || true' EXIT

make_root() {
  local packages
  packages=$(stage_lines | sed -n 's/.*--no-install-recommends \([^&]*\)&&.*/\1/p')
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
  # shellcheck disable=SC2046
  grep -q ^frazil: "$root/etc/passwd" || chroot "$root" $(stage_lines | grep -o 'useradd .*')
}

enter() {  # enter COMMAND...: runs a command in the container
  nsenter -t "$(tr -d ' ' <"/proc/$server/task/$server/children")" -m -p -r -w "$@"
}
# run COMMAND...: starts the command as the image's user, waits until it is ready, sends a request and stops it.
run() {
  local user status='' answer port
  user=$(last_stage | sed -n 's/^USER //p')
  [[ $user =~ ^[1-9][0-9]*$ ]] || die "USER is '$user', expected a number other than 0"
  mkdir -p "$root/mnt/models"
  cp "$model" "$root/mnt/models/double.onnx"
  # shellcheck disable=SC2016
  unshare --mount --pid --fork --kill-child bash -c '
    mount --bind "$0" "$0" && mount -o remount,ro,bind "$0"
    mount -t proc proc "$0/proc" && mount -t tmpfs -o mode=1777 tmpfs "$0/tmp"
    mount --rbind /dev "$0/dev"
    exec chroot --userspec="$1" "$0" "${@:2}"' "$root" "$user" "$@" 2>"$build/image.log" &
  server=$!
  for _ in $(seq 100); do
    sleep 0.2
    status=$(curl -s -o /dev/null -w '%{http_code}' localhost:8080/v2/health/ready || true)
    [ "$status" = 200 ] && break
    kill -0 "$server" 2>/dev/null || break
  done
  [ "$status" = 200 ] || { cat "$build/image.log" >&2; die "not ready"; }
  answer=$(curl -s localhost:8080/v2/models/double/infer \
    -d '{"inputs":[{"name":"x","datatype":"FP32","shape":[1,2],"data":[1,2]}]}')
  [[ $answer == *'"data":[2,4]'* ]] || die "answers $answer"
  for port in $(last_stage | sed -n 's/^EXPOSE //p'); do
    (exec 3<>"/dev/tcp/127.0.0.1/$port") 2>/dev/null || die "nothing listens at the port $port of EXPOSE"
  done
  [ "$(enter stat -c %u /proc/1)" = "$user" ] || die "the user is $(enter stat -c %u /proc/1), expected $user"
  enter "${health[@]}" || die "HEALTHCHECK fails while the server is ready"
  kill -TERM "$(tr -d ' ' <"/proc/$server/task/$server/children")"
  wait "$server" || die "ends with $?"
  server=
  ! chroot "$root" "${health[@]}" 2>/dev/null || die "HEALTHCHECK succeeds without a server"
  echo "container: user $user, read-only; ready, answers, listens at $(last_stage | sed -n 's/^EXPOSE //p'), healthy, ends"
}

model=$build/image.onnx
python3 "$source/scripts/double_model.py" "$model"
mapfile -d '' -t health < <(json_words 'HEALTHCHECK.* CMD')
mapfile -d '' -t command < <(json_words ENTRYPOINT; json_words CMD)
make_root

eval "$(last_stage | sed -n 's/^ENV \(.*\)/export \1/p')"
run "${command[@]}"
