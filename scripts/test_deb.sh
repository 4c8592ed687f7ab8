#!/usr/bin/env bash
# Tests the Debian packages in a clean Debian 12 with systemd: test_deb.sh BUILD DEBS
#
# DEBS has the packages that scripts/make_deb.sh made of BUILD. They are installed, upgraded, removed and purged in a file
# system of debootstrap, whose systemd runs in namespaces: the service starts with all restrictions of its unit.
# SBOM_SCHEMA names a folder of CycloneDX's schemas. Needs root, a mounted cgroup2, and Debian's packages from a mirror.
set -euo pipefail
build=$(realpath "${1:?usage: $0 BUILD DEBS}")
debs=$(realpath "${2:?usage: $0 BUILD DEBS}")
source=$(realpath "$(dirname "$0")/..")
# shellcheck source=clean_root.sh
. "$source/scripts/clean_root.sh"
# shellcheck source=boot_root.sh
. "$source/scripts/boot_root.sh"
root=$build/deb-root
unit=$root/lib/systemd/system/frazil.service
names=(libfrazil0 frazil libfrazil-dev python3-frazil)
trap 'halt_root; umount_root' EXIT

die() { echo "test_deb.sh: $*" >&2; [ -z "$boot_init" ] || in_boot journalctl -u frazil --no-pager -n 30 >&2; exit 1; }
say() { echo "ok: $*"; }
installed() { in_root dpkg-query -W -f '${db:Status-Status} ${Version}' "$1" 2>/dev/null || true; }

apt() {  # apt IN ARGUMENT...: apt-get in the file system (in_root) or in the booted system (in_boot), which has no network
  "$1" apt-get -y -q --no-install-recommends "${@:2}" >>"$build/deb-apt.log" 2>&1 || { tail -20 "$build/deb-apt.log" >&2; die "apt-get ${*:2}"; }
}
install_debs() {  # install_debs FOLDER
  rm -rf "$root/debs"
  cp -r "$1" "$root/debs"
  local files=() name began
  for name in "${names[@]}"; do files+=("/$(cd "$root" && ls debs/"${name}"_*.deb)"); done
  apt in_root --download-only install "${files[@]}"
  began=$EPOCHREALTIME
  apt in_boot install "${files[@]}"
  say "$(awk "BEGIN { printf \"%.1f\", $EPOCHREALTIME - $began }") s to install, without the download"
}

journal() { in_boot journalctl -u frazil --no-pager -o cat; }
active() { [ "$(in_boot systemctl is-active frazil || true)" = active ] || die "the service is not active: $*"; }
expect() {  # expect PATTERN PATH [BODY]
  local answer
  answer=$(in_boot_network curl -s -w ' %{http_code}' "localhost:8010$2" ${3:+-d "$3"})
  [[ $answer == $1 ]] || die "$2 answers $answer, expected $1"
}

check_files() {
  local package
  for package in "${names[@]}"; do
    [ -f "$root/usr/share/doc/$package/copyright" ] || die "$package has no copyright file"
    python3 "$source/scripts/check_sbom.py" ${SBOM_SCHEMA:+--schema "$SBOM_SCHEMA"} "$root/usr/share/doc/$package/sbom.cdx.json" >/dev/null ||
      die "$package: its sbom.cdx.json is not valid"
    [ "$(installed $package)" = "installed $1" ] || die "$package is $(installed $package), expected version $1"
  done
  [ -L "$root/etc/systemd/system/multi-user.target.wants/frazil.service" ] || die "the unit is not enabled"
  grep -q ^frazil: "$root/etc/passwd" || die "there is no user frazil"
  in_root frazil --version | grep -q "^code generator: LLVM .*/lib/.*/frazil/libfrazil_jit.so" || die "no code generator"
  cmp <(zcat "$root/usr/share/man/man1/frazil.1.gz") <(in_root frazil man) || die "the manual page is another one than that of frazil man"
  cmp "$root/usr/share/bash-completion/completions/frazil" <(in_root frazil completion bash) || die "the completion of bash is another one"
  cmp "$root/usr/share/zsh/site-functions/_frazil" <(in_root frazil completion zsh) || die "the completion of zsh is another one"
  bash -c '. "$1" && complete -p frazil' completion "$root/usr/share/bash-completion/completions/frazil" >/dev/null || die "bash does not complete frazil"
  say "installed $1: files, manual page, completions, user, unit, code generator"
}
check_unit() {
  local told exposure
  # There is no manual reader; the page is checked above.
  told=$(in_boot systemd-analyze verify /lib/systemd/system/frazil.service 2>&1 | grep -v "man frazil(1)" || true)
  [ -z "$told" ] || die "systemd-analyze verify: $told"
  exposure=$(in_boot systemd-analyze security --no-pager frazil.service | sed -n 's/.*exposure level[^:]*: \([0-9.]*\).*/\1/p')
  awk -v e="$exposure" 'BEGIN { exit !(e != "" && e < 2) }' || die "the exposure of the unit is $exposure, expected below 2"
  say "unit: verified, exposure $exposure"
}
# The system calls of a traced server with a Python step must be within the unit's filter: refused ones may show no effect
# in this test. The tracer is the main process, and needs calls that the unit refuses.
trace_calls() {
  apt in_root install strace
  printf '[Service]\nExecStart=\nExecStart=/usr/bin/strace -f -qq -o /var/cache/frazil/trace %s\nNotifyAccess=all\nKillMode=control-group\nSystemCallFilter=\n' \
    "$(sed -n 's/^ExecStart=//p' "$unit")" >"$root/etc/trace.conf"
  in_boot sh -ec 'mkdir -p /run/systemd/system/frazil.service.d
    mv /etc/trace.conf /run/systemd/system/frazil.service.d
    systemctl daemon-reload
    systemctl restart frazil'
  answers
  in_boot sh -ec 'systemctl stop frazil
    rm -r /run/systemd/system/frazil.service.d
    systemctl daemon-reload
    systemctl start frazil'
  in_boot systemd-analyze syscall-filter >"$build/deb-calls"
  python3 - "$root/var/cache/frazil/trace" "$unit" "$build/deb-calls" <<'PY'
import pathlib, re, sys

trace, unit, calls = (pathlib.Path(path).read_text(errors="replace") for path in sys.argv[1:])
sets = {}
for block in re.split(r"\n(?=@)", calls):
    name, *lines = block.splitlines()
    sets[name] = {line.strip() for line in lines if line.strip() and not line.strip().startswith("#")}

def members(names):
    return {m for n in names for m in (members(sets[n]) if n.startswith("@") else {n})}

allowed = set()
for rule in re.findall(r"^SystemCallFilter=(.*)$", unit, re.M):
    named = members(rule.lstrip("~").split())
    allowed = allowed - named if rule.startswith("~") else allowed | named
allowed |= members(["@default"])
server = trace[trace.index('execve("/usr/bin/frazil"'):]
used = set(re.findall(r"^\d+ +(?:[\d.]+ )?(\w+)\(", server, re.M))
refused = sorted(used - allowed)
print(f"ok: {len(used)} system calls of the server and of a Python step, outside of the filter: {refused or 'none'}")
sys.exit(1 if refused or not used else 0)
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
answers() {
  expect '*"data":\[2,4\]*200' /v2/models/double/infer "$ask"
  expect '*"data":\[1,2\]*200' /v2/models/halves/infer "$ask"
}

version=$(dpkg-deb -f "$(ls "$debs"/libfrazil0_*.deb | head -1)" Version)
clean_root
apt in_root install systemd python3
rm "$root/usr/sbin/policy-rc.d"  # installation starts services
boot_root
rm -rf "$build/deb-first"
mkdir "$build/deb-first"
cp "$debs"/*_"${version}"_*.deb "$build/deb-first"
install_debs "$build/deb-first"
active "after its installation"
check_files "$version"
check_unit
expect '*200' /v2/health/ready
journal | grep -q "warning server: .*there is no model" || die "no warning of an empty folder"
say "installation starts the service with an empty folder: ready, warns"

models
in_boot systemctl restart frazil
answers
[ "$(find "$root/var/lib/frazil" ! -user root -o -name __pycache__)" = "" ] || die "the service has changed the folder of models"
say "a model and a pipeline with a step in Python answer under all restrictions of the unit"
main=$(in_boot systemctl show -P MainPID frazil)
in_boot systemctl kill --kill-whom=main --signal=KILL frazil
for _ in $(seq 50); do
  [ "$(in_boot systemctl is-active frazil)" = active ] && [ "$(in_boot systemctl show -P MainPID frazil)" != "$main" ] && break
  sleep 0.2
done
answers
say "a killed server is started again"
in_boot systemctl stop frazil
[ "$(in_boot systemctl show -P Result frazil)" = success ] || die "stopped with $(in_boot systemctl show -P Result frazil)"
in_boot systemctl start frazil
trace_calls

in_root python3 -c '
import frazil, numpy
model = frazil.load("/var/lib/frazil/models/double.onnx")
assert model(numpy.ones((1, 2), "f")).tolist() == [[2, 2]]'
say "python3-frazil runs a model"
apt in_root install gcc libc6-dev pkg-config
# shellcheck disable=SC2016
in_root sh -ec 'cc -std=c11 /usr/share/doc/libfrazil-dev/examples/c_api/main.c -o /tmp/c_api $(pkg-config --cflags --libs frazil) && cd /tmp && ./c_api >/dev/null'
say "libfrazil-dev compiles and runs a program in C"

FRAZIL_DEB_VERSION=$version+1 FRAZIL_DEB_COMPRESSION=none "$source/scripts/make_deb.sh" "$build" "$build/deb-next" >/dev/null
echo "FRAZIL_OPTIONS=--workers 1 --config /etc/frazil.yaml" >"$root/etc/default/frazil"
echo "paths: {ring: 10}" >"$root/etc/frazil.yaml"
main=$(in_boot systemctl show -P MainPID frazil)
install_debs "$build/deb-next"
check_files "$version+1"
grep -q "workers 1" "$root/etc/default/frazil" || die "the upgrade has overwritten /etc/default/frazil"
active "after the upgrade"
[ "$(in_boot systemctl show -P MainPID frazil)" != "$main" ] || die "the upgrade has not restarted the service"
journal | grep -q "info server: --workers 1 " || die "the options of /etc/default/frazil have no effect"
answers
say "upgraded: the new version runs, settings and models stay"
echo "paths: {ring: many}" >"$root/etc/frazil.yaml"
in_boot systemctl reload frazil
for _ in $(seq 50); do journal | grep -q "config: not changed: /etc/frazil.yaml:1: field 'paths.ring'" && break; sleep 0.1; done
journal | grep -q "config: not changed: /etc/frazil.yaml:1: field 'paths.ring'" || die "the configuration file is not read again"
answers
say "systemctl reload reads the configuration file again; an invalid one changes nothing"

apt in_boot remove "${names[@]}"
[ "$(in_boot systemctl is-active frazil || true)" != active ] || die "remove: the service still runs"
[ ! -e "$root/usr/bin/frazil" ] && [ -f "$root/etc/default/frazil" ] && [ -f "$root/var/lib/frazil/models/double.onnx" ] ||
  die "remove: expected no command, but settings and models"
rm "$root/etc/frazil.yaml"
in_boot dpkg --purge "${names[@]}" >>"$build/deb-apt.log" 2>&1
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
