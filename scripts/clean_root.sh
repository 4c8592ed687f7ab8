# For tests of packages, which source it: a Debian 12 of debootstrap at $root. Keeps its archive in $build.
# shellcheck shell=bash disable=SC2154

in_root() { chroot "$root" env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/root LANG=C.UTF-8 DEBIAN_FRONTEND=noninteractive "$@"; }
umount_root() { umount "$root/proc" 2>/dev/null || true; }

# Makes the root again, with the package lists of this day, and without services that start.
clean_root() {
  command -v debootstrap >/dev/null || { echo "needs debootstrap: scripts/install-deps.sh --package" >&2; exit 2; }
  [ -f "$build/clean-root.tar" ] || {
    rm -rf "$root"
    debootstrap --variant=minbase --include=ca-certificates bookworm "$root" >"$build/clean-root.log"
    tar -C "$root" -cf "$build/clean-root.tar" .
  }
  rm -rf "$root"
  mkdir "$root"
  tar -C "$root" -xf "$build/clean-root.tar"
  cp /etc/resolv.conf "$root/etc/resolv.conf" 2>/dev/null || true
  printf '#!/bin/sh\nexit 101\n' >"$root/usr/sbin/policy-rc.d"
  chmod +x "$root/usr/sbin/policy-rc.d"
  mount -t proc proc "$root/proc"
  in_root apt-get update -q >"$build/clean-apt.log"
}
