#!/usr/bin/env bash
# Unpacks the arm64 packages that a cross build links to: arm64_sysroot.sh FOLDER
# The system's packages and package lists do not change: apt uses separate lists in FOLDER.apt.
set -euo pipefail

sysroot=${1:?usage: $0 FOLDER}
packages=(
  libc6-dev libstdc++-12-dev
  libprotozero-dev libtbb-dev libre2-dev libcli11-dev libfmt-dev libspdlog-dev nlohmann-json3-dev libssl-dev
  libjpeg62-turbo-dev libpng-dev libtiff-dev libwebp-dev libopenjp2-7-dev
  libboost-dev libboost-context-dev libgtest-dev libgmock-dev
)
wanted=$(printf '%s\n' "${packages[@]}")
[[ -e $sysroot/packages && $(<"$sysroot/packages") == "$wanted" ]] && exit 0

mkdir -p "$sysroot"
sysroot=$(realpath "$sysroot")
state=$sysroot.apt
rm -rf "$sysroot" "$state"
mkdir -p "$sysroot" "$state"/{lists/partial,archives/partial}
: >"$state/status"
apt=(
  apt-get -q -o APT::Architecture=arm64 -o APT::Architectures::=arm64 -o APT::Install-Recommends=false
  -o Dir::State="$state" -o Dir::State::lists="$state/lists" -o Dir::State::status="$state/status"
  -o Dir::Cache="$state" -o Dir::Cache::archives="$state/archives" -o APT::Sandbox::User=
)
"${apt[@]}" update
"${apt[@]}" install -y --download-only "${packages[@]}"
for package in "$state"/archives/*.deb; do
  dpkg-deb -x "$package" "$sysroot"
done
rm -rf "$state"
echo "$wanted" >"$sysroot/packages"
