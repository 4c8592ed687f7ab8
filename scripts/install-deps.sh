#!/usr/bin/env bash
# Installs the missing Debian packages for building and running. One option adds packages for other work:
#   --test   pages in a browser, the service with other clients and Redis, exported models with ONNX's checker
#   --demo   the programs that `make demo-serve` starts
#   --bench  comparisons with other runtimes
#   --dev    linting and profiling
#   --docs   the documentation as a site
#   --package  Debian packages and wheels
#   --arm64  compiling and testing for 64-bit ARM
set -euo pipefail

packages=(
  g++ make cmake ninja-build ccache mold pkg-config python3
  libprotozero-dev libtbb-dev libre2-dev libcli11-dev libfmt-dev libspdlog-dev nlohmann-json3-dev libssl-dev
  libboost-dev libboost-context-dev libsimdjson-dev libnghttp2-dev libcurl4-openssl-dev libseccomp-dev zlib1g-dev libyaml-cpp-dev llvm-19-dev clang-19
  libjpeg62-turbo-dev libpng-dev libtiff-dev libwebp-dev libopenjp2-7-dev
  libgtest-dev libgmock-dev libbenchmark-dev libonnx-testdata graphviz
  python3-dev python3-numpy python3-greenlet python3-pytest python3-pip python3-venv pybind11-dev patchelf
)
test_packages=(bubblewrap python3-yaml python3-kubernetes chromium chromium-driver redis-server python3-grpcio python3-protobuf python3-onnx)
demo_packages=(haproxy)
bench_packages=(libdnnl-dev python3-torch libtorch-dev libopenblas-pthread-dev)
dev_packages=(
  libclang-rt-19-dev llvm-19 clang-format-19 clang-tidy-19 valgrind
  python3-sklearn mypy
)
docs_packages=(mkdocs)
package_packages=(
  debhelper dh-python dpkg-dev debootstrap lintian strace curl python3-jsonschema
)
arm64_packages=(g++-aarch64-linux-gnu qemu-user-static)
# A Node.js from another source includes npm, and Debian's npm conflicts with it.
command -v npm >/dev/null || packages+=(nodejs npm)

case "${1:-}" in
  "") ;;
  --bench) packages+=("${bench_packages[@]}") ;;
  --test) packages+=("${test_packages[@]}") ;;
  --demo) packages+=("${test_packages[@]}" "${demo_packages[@]}") ;;
  --dev) packages+=("${bench_packages[@]}" "${dev_packages[@]}" "${test_packages[@]}") ;;
  --docs) packages=("${docs_packages[@]}") ;;
  --package) packages+=("${package_packages[@]}") ;;
  --arm64) packages+=("${arm64_packages[@]}") ;;
  *) echo "usage: $0 [--test | --demo | --bench | --dev | --docs | --package | --arm64]" >&2; exit 2 ;;
esac

installed=$(dpkg-query -W -f '${db:Status-Status} ${Package}\n' "${packages[@]}" 2>/dev/null || true)
missing=()
for package in "${packages[@]}"; do
  grep -qxF "installed $package" <<<"$installed" || missing+=("$package")
done
if ((${#missing[@]} == 0)); then
  exit 0
fi

echo "Installing: ${missing[*]}"
as_root=(env DEBIAN_FRONTEND=noninteractive)
if ((EUID != 0)); then
  as_root=(sudo "${as_root[@]}")
fi
"${as_root[@]}" apt-get update -q
"${as_root[@]}" apt-get install -y -q --no-install-recommends "${missing[@]}"
