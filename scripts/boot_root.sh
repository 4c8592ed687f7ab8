# For tests of packages, which source it after clean_root.sh: boots the systemd of the file system at $root.
# shellcheck shell=bash disable=SC2154
#
# systemd runs in namespaces of its own, also of the network. It can change neither devices nor variables of the kernel.
# A change of the root by pivot_root, and not by chroot, lets units have user namespaces.

boot_group=  # the cgroup of the booted system
boot_init=   # the process of its systemd

# Runs a command in the booted system; in_boot_network runs one of this machine in its network.
in_boot() { nsenter -t "$boot_init" -m -p -C -n -u -i -r -w -- env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/root LANG=C.UTF-8 DEBIAN_FRONTEND=noninteractive "$@"; }
in_boot_network() { nsenter -t "$boot_init" -n "$@"; }

# Boots $root to multi-user.target. The log goes to the journal; messages before that go to $build/boot.log.
boot_root() {
  local groups
  groups=$(awk '$3 == "cgroup2" { print $2; exit }' /proc/mounts)
  [ -n "$groups" ] || { echo "booting $root needs a mounted cgroup2" >&2; exit 2; }
  boot_group=$groups/frazil-boot.$$
  mkdir "$boot_group"
  # shellcheck disable=SC2016
  bash -c 'echo $$ >"$1/cgroup.procs" && exec unshare --mount --pid --fork --kill-child --uts --ipc --net --cgroup bash -ec "$2" boot "$3"' \
    boot "$boot_group" '
    root=$1
    mount --make-rprivate /
    mount --bind "$root" "$root"
    for type in proc sysfs; do mount -t $type $type "$root/${type%fs}"; done
    mount --bind "$root/proc/sys" "$root/proc/sys" && mount -o remount,ro,bind "$root/proc/sys"
    mount -t cgroup2 cgroup2 "$root/sys/fs/cgroup"
    mount -o remount,ro,bind "$root/sys"
    for folder in run tmp dev; do mount -t tmpfs -o mode=755 tmpfs "$root/$folder"; done
    chmod 1777 "$root/tmp"
    for device in null zero full random urandom tty; do
      touch "$root/dev/$device" && mount --bind "/dev/$device" "$root/dev/$device"
    done
    mkdir "$root/dev/pts" "$root/dev/shm" && mount -t devpts -o newinstance,ptmxmode=0666 devpts "$root/dev/pts"
    ln -s pts/ptmx "$root/dev/ptmx"
    cd "$root"
    mkdir -p .host && pivot_root . .host && umount -l /.host && rmdir /.host
    exec env -i container=test PATH=/usr/sbin:/usr/bin:/sbin:/bin /lib/systemd/systemd --unit=multi-user.target' "$root" \
    >"$build/boot.log" 2>&1 &
  local outer=$! tries
  for tries in $(seq 100); do
    boot_init=$(tr -d ' ' <"/proc/$outer/task/$outer/children" 2>/dev/null || true)
    if [ -n "$boot_init" ] && [ "$(cat "/proc/$boot_init/comm")" = systemd ] && in_boot systemctl is-system-running 2>/dev/null | grep -Eq "running|degraded"; then
      return
    fi
    sleep 0.2
  done
  cat "$build/boot.log" >&2
  echo "systemd does not start in $root after $tries tries" >&2
  exit 1
}

# Ends the booted system; in a trap, too.
halt_root() {
  [ -z "$boot_init" ] || kill -9 "$boot_init" 2>/dev/null || true
  boot_init=
  [ -d "$boot_group" ] || return 0
  for _ in $(seq 50); do
    find "$boot_group" -depth -type d -exec rmdir {} + 2>/dev/null && return
    sleep 0.1
  done
}
