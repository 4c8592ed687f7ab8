#!/usr/bin/env bash
# Makes the Debian packages of a build: make_deb.sh BUILD OUT
#
# The build must be configured with the prefix /usr, as the preset "package" does. Its version is the packages'.
set -euo pipefail
build=$(realpath "${1:?usage: $0 BUILD OUT}")
out=${2:?usage: $0 BUILD OUT}
source=$(realpath "$(dirname "$0")/..")
for tool in dpkg-buildpackage dh; do
  command -v $tool >/dev/null || { echo "$0: needs $tool: scripts/install-deps.sh --package" >&2; exit 2; }
done
setting() { sed -n "s/^$1:[A-Z]*=//p" "$build/CMakeCache.txt"; }
[ "$(setting CMAKE_INSTALL_PREFIX)" = /usr ] || {
  echo "$0: $build has the prefix $(setting CMAKE_INSTALL_PREFIX), expected /usr: configure it with the preset package" >&2
  exit 2
}
version=${FRAZIL_DEB_VERSION:-$(setting CMAKE_PROJECT_VERSION)}  # tests of upgrades set a later one
# The time stamp of the commit, so that the same commit gives the same files.
SOURCE_DATE_EPOCH=$(git -C "$source" log -1 --format=%ct 2>/dev/null || stat -c %Y "$source/CMakeLists.txt")
export SOURCE_DATE_EPOCH FRAZIL_BUILD=$build FRAZIL_VERSION=$version
export DEB_BUILD_OPTIONS="nocheck"

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
tree=$work/frazil-$version
mkdir -p "$tree"
cp -r "$source/packaging/debian" "$tree/debian"
cp "$source/packaging/frazil.service" "$tree/debian/frazil.service"
cp -r "$source/packaging" "$source/examples" "$tree"
cat >"$tree/debian/changelog" <<END
frazil ($version) bookworm; urgency=medium

  * Version $version.

 -- $(sed -n 's/^Maintainer: //p' "$tree/debian/control")  $(date -u -R -d "@$SOURCE_DATE_EPOCH")
END
while read -r package parts; do
  # shellcheck disable=SC2046
  python3 "$source/scripts/make_sbom.py" "$build" --name "$package" --version "$version" -o "$tree/debian/$package.cdx.json" \
    $(printf -- '--part %s ' $parts)
done <<END
frazil command
libfrazil0 library jit
libfrazil-dev archive
python3-frazil python
libfrazil-onnxruntime onnxruntime
END
python3 "$source/scripts/check_sbom.py" "$tree"/debian/*.cdx.json >"$work/sbom.log" || { cat "$work/sbom.log" >&2; exit 1; }
(cd "$tree" && dpkg-buildpackage --build=binary --unsigned-changes --unsigned-buildinfo --no-check-builddeps >"$work/log" 2>&1) ||
  { tail -40 "$work/log" >&2; exit 1; }
mkdir -p "$out"
mv "$work"/*.deb "$work"/*.changes "$work"/*.buildinfo "$out"
grep -E "^dpkg-(gencontrol|shlibdeps): warning" "$work/log" >&2 || true
for package in "$out"/*_"${version}"_*.deb; do
  printf '%-40s %10s bytes, %6s kB installed\n' "$(basename "$package")" "$(stat -c %s "$package")" \
    "$(dpkg-deb -f "$package" Installed-Size)"
done
