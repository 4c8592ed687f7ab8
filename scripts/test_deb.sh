#!/usr/bin/env bash
# Tests the Debian packages in a clean Debian 12: test_deb.sh BUILD DEBS
#
# DEBS has the packages that scripts/make_deb.sh made of BUILD. They are installed, started, upgraded, removed and purged
# in a file system of debootstrap. systemd cannot run there: the ExecStart of the unit runs as its user, with the
# file system read-only except for the unit's folders. SBOM_SCHEMA names a folder of CycloneDX's schemas. Needs root, and Debian's packages from a mirror.
set -euo pipefail
build=$(realpath "${1:?usage: $0 BUILD DEBS}")
debs=$(realpath "${2:?usage: $0 BUILD DEBS}")
source=$(realpath "$(dirname "$0")/..")
# shellcheck source=clean_root.sh
. "$source/scripts/clean_root.sh"
root=$build/deb-root
unit=$root/lib/systemd/system/frazil.service
server=
trap 'stop_hard; umount_root' EXIT

die() { echo "test_deb.sh: $*" >&2; exit 1; }
say() { echo "ok: $*"; }
stop_hard() { [ -z "$server" ] || kill -9 "$server" 2>/dev/null || true; }
unit_field() { sed -n "s/^$1=//p" "$unit"; }
installed() { in_root dpkg-query -W -f '${db:Status-Status} ${Version}' "$1" 2>/dev/null || true; }

install_debs() {  # install_debs FOLDER PACKAGE...
  rm -rf "$root/debs"
  cp -r "$1" "$root/debs"
  shift
  local files=() name
  for name in "$@"; do files+=("$(cd "$root" && ls debs/"${name}"_*.deb)"); done
  in_root apt-get install -y -q --no-install-recommends "${files[@]/#//}" >>"$build/deb-apt.log" 2>&1 ||
    { tail -20 "$build/deb-apt.log" >&2; die "cannot install $*"; }
}

# start: runs the unit's ExecStart as its user until READY=1; `server` is its process.
start() {
  local command folder notify=/run/frazil-notify
  command=$(unit_field ExecStart | sed 's/\$FRAZIL_OPTIONS//')
  # As the unit's StateDirectory and CacheDirectory.
  for folder in $(unit_field StateDirectory); do install -d "$root/var/lib/$folder"; done
  for folder in $(unit_field CacheDirectory); do install -d -m 700 "$root/var/cache/$folder"; done
  in_root chown frazil:frazil /var/lib/frazil /var/lib/frazil/models /var/cache/frazil
  rm -f "$root$notify" "$build/deb-notify"
  python3 - "$root$notify" "$build/deb-notify" <<'PY' &
import os, socket, sys
manager = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
manager.bind(sys.argv[1])
os.chmod(sys.argv[1], 0o666)
manager.settimeout(120)
for _ in range(2):
    with open(sys.argv[2], "ab") as out:
        out.write(manager.recv(4096) + b"\n")
PY
  manager=$!
  while [ ! -S "$root$notify" ]; do sleep 0.05; done
  # shellcheck disable=SC2016,SC2086
  unshare --mount --pid --fork --kill-child bash -c '
    root=$1; shift
    mount --bind "$root" "$root"
    for folder in var/lib/frazil var/cache/frazil run; do mount --bind "$root/$folder" "$root/$folder"; done
    mount -o remount,ro,bind "$root"
    mount -t proc proc "$root/proc" && mount -t tmpfs -o mode=1777 tmpfs "$root/tmp"
    mount --rbind /dev "$root/dev"
    exec $TRACE chroot --userspec=frazil:frazil "$root" env -i "$@"' start "$root" \
    PATH=/usr/bin:/bin NOTIFY_SOCKET=$notify $(unit_field Environment) $command 2>"$build/deb-server.log" &
  server=$!
  for _ in $(seq 300); do
    grep -q READY=1 "$build/deb-notify" 2>/dev/null && return
    kill -0 "$server" 2>/dev/null || break
    sleep 0.1
  done
  cat "$build/deb-server.log" >&2
  die "the server does not become ready"
}
stop() {
  local child=$server next
  while next=$(tr -d ' ' <"/proc/$child/task/$child/children") && [ -n "$next" ]; do
    child=$next
    [ "$(readlink "/proc/$child/exe")" != "$root/usr/bin/frazil" ] || break
  done
  kill -TERM "$child"
  wait "$server" || { cat "$build/deb-server.log" >&2; die "the server ends with $?"; }
  wait "$manager"
  server=
  grep -q STOPPING=1 "$build/deb-notify" || die "no STOPPING=1"
}
expect() {  # expect PATTERN PATH [BODY]
  local answer
  answer=$(curl -s -w ' %{http_code}' "localhost:8010$2" ${3:+-d "$3"})
  [[ $answer == $1 ]] || { cat "$build/deb-server.log" >&2; die "$2 answers $answer, expected $1"; }
}

check_files() {
  local package
  for package in frazil libfrazil0 python3-frazil libfrazil-dev; do
    [ -f "$root/usr/share/doc/$package/copyright" ] || die "$package has no copyright file"
    python3 "$source/scripts/check_sbom.py" ${SBOM_SCHEMA:+--schema "$SBOM_SCHEMA"} "$root/usr/share/doc/$package/sbom.cdx.json" >/dev/null ||
      die "$package: its sbom.cdx.json is not valid"
    [ "$(installed $package)" = "installed $1" ] || die "$package is $(installed $package), expected version $1"
  done
  [ -L "$root/etc/systemd/system/multi-user.target.wants/frazil.service" ] || die "the unit is not enabled"
  grep -q ^frazil: "$root/etc/passwd" || die "there is no user frazil"
  in_root frazil --version | grep -q "^code generator: LLVM .*/lib/.*/frazil/libfrazil_jit.so" || die "no code generator"
  say "installed $1: files, user, unit, code generator"
}
check_unit() {
  command -v systemd-analyze >/dev/null || { echo "skipped: systemd-analyze is not installed"; return; }
  # The host has neither the command nor its manual page.
  local told exposure
  told=$(systemd-analyze verify "$unit" 2>&1 | grep -v "is not executable: No such file\|man frazil(1)" || true)
  [ -z "$told" ] || die "systemd-analyze verify: $told"
  exposure=$(systemd-analyze security --offline=true "$unit" | sed -n 's/.*exposure level[^:]*: \([0-9.]*\).*/\1/p')
  awk -v e="$exposure" 'BEGIN { exit !(e != "" && e < 2) }' || die "the exposure of the unit is $exposure, expected below 2"
  say "unit: verified, exposure $exposure"
}
# The system calls of a traced server with a Python step must be within the unit's filter.
check_calls() {
  command -v strace >/dev/null && command -v systemd-analyze >/dev/null || { echo "skipped: system calls: needs strace"; return; }
  python3 - "$build/deb-trace" "$unit" <<'PY'
import pathlib, re, subprocess, sys

def members(name, seen=None):
    text = subprocess.run(["systemd-analyze", "syscall-filter", name], capture_output=True, text=True, check=True).stdout
    names = {line.strip() for line in text.splitlines()[1:] if line.strip() and not line.strip().startswith("#")}
    return {m for n in names for m in (members(n) if n.startswith("@") else {n})}

allowed = set()
for rule in re.findall(r"^SystemCallFilter=(.*)$", pathlib.Path(sys.argv[2]).read_text(), re.M):
    calls = {m for n in rule.lstrip("~").split() for m in (members(n) if n.startswith("@") else {n})}
    allowed = allowed - calls if rule.startswith("~") else allowed | calls
allowed |= members("@default")
trace = pathlib.Path(sys.argv[1]).read_text(errors="replace")
server = trace[trace.index('execve("/usr/bin/frazil"'):]  # after chroot and the change of the user
used = set(re.findall(r"^\d+ +(?:[\d.]+ )?(\w+)\(", server, re.M))
refused = sorted(used - allowed)
print(f"ok: {len(used)} system calls of the server and of a Python step, outside of the filter: {refused or 'none'}")
sys.exit(1 if refused else 0)
PY
}

models() {
  mkdir -p "$root/var/lib/frazil/models"
  python3 "$source/scripts/double_model.py" "$root/var/lib/frazil/models/double.onnx"
  cat >"$root/var/lib/frazil/models/half.py" <<'END'
import numpy as np


def half(x):
    return {"y": (x / np.float32(2)).astype(np.float32)}
END
  cat >"$root/var/lib/frazil/models/halves.yaml" <<'END'
inputs: {x: 'f32[N,2]'}
steps:
  - {name: twice, model: double, inputs: {x: x}}
  - {name: halved, code: {python: half.py, function: half, inputs: {x: twice.y}, outputs: {y: 'f32[N,2]'}}}
outputs: {y: halved.y}
END
}
ask='{"inputs":[{"name":"x","datatype":"FP32","shape":[1,2],"data":[1,2]}]}'

version=$(dpkg-deb -f "$(ls "$debs"/libfrazil0_*.deb | head -1)" Version)
clean_root
mkdir -p "$build/deb-first"
rm -f "$build"/deb-first/*
cp "$debs"/*_"${version}"_*.deb "$build/deb-first"
install_debs "$build/deb-first" libfrazil0 frazil libfrazil-dev python3-frazil
check_files "$version"
check_unit

TRACE= start
expect '*200' /v2/health/ready
grep -q "warning server: .*there is no model" "$build/deb-server.log" || die "no warning of an empty folder"
stop
say "an empty folder: ready, warns, ends"

models
trace=
if command -v strace >/dev/null; then trace="strace -f -qq -o $build/deb-trace"; fi
TRACE=$trace start
expect '*"data":\[2,4\]*200' /v2/models/double/infer "$ask"
expect '*"data":\[1,2\]*200' /v2/models/halves/infer "$ask"
stop
say "a model and a pipeline with a step in Python answer"
check_calls

in_root python3 -c '
import frazil, numpy
model = frazil.load("/var/lib/frazil/models/double.onnx")
assert model(numpy.ones((1, 2), "f")).tolist() == [[2, 2]]'
say "python3-frazil runs a model"
in_root apt-get install -y -q --no-install-recommends gcc libc6-dev pkg-config >>"$build/deb-apt.log" 2>&1
# shellcheck disable=SC2016
in_root sh -ec 'cc -std=c11 /usr/share/doc/libfrazil-dev/examples/c_api/main.c -o /tmp/c_api $(pkg-config --cflags --libs frazil) && cd /tmp && ./c_api >/dev/null'
say "libfrazil-dev compiles and runs a program in C"

FRAZIL_DEB_VERSION=$version+1 FRAZIL_DEB_COMPRESSION=none "$source/scripts/make_deb.sh" "$build" "$build/deb-next" >/dev/null
echo "FRAZIL_OPTIONS=--workers 2" >"$root/etc/default/frazil"
install_debs "$build/deb-next" libfrazil0 frazil libfrazil-dev python3-frazil
check_files "$version+1"
grep -q "workers 2" "$root/etc/default/frazil" || die "the upgrade has overwritten /etc/default/frazil"
TRACE= start
expect '*"data":\[2,4\]*200' /v2/models/double/infer "$ask"
stop
say "upgraded: settings and models stay"

in_root apt-get remove -y -q frazil libfrazil0 libfrazil-dev python3-frazil >>"$build/deb-apt.log" 2>&1
[ ! -e "$root/usr/bin/frazil" ] && [ -f "$root/etc/default/frazil" ] && [ -f "$root/var/lib/frazil/models/double.onnx" ] ||
  die "remove: expected no command, but settings and models"
in_root dpkg --purge frazil libfrazil0 libfrazil-dev python3-frazil >>"$build/deb-apt.log" 2>&1
[ ! -e "$root/etc/default/frazil" ] && [ ! -e "$root/var/cache/frazil" ] && [ -f "$root/var/lib/frazil/models/double.onnx" ] ||
  die "purge: expected no settings and no cache, but models"
left=$(find "$root/usr" "$root/lib" "$root/etc" -name '*frazil*' -not -path '*/debs/*' 2>/dev/null || true)
[ -z "$left" ] || die "purge leaves $left"
say "removed and purged: models stay, everything else is gone"

if command -v lintian >/dev/null; then
  lintian --allow-root --fail-on error --tag-display-limit 0 "$build"/deb-first/*.deb || die "lintian has errors"
  say "lintian has no errors"
else
  echo "skipped: lintian is not installed"
fi
