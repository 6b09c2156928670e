#!/usr/bin/env bash
# Run COMMAND with libvirt's folders, and the user that its QEMU driver requires, bound from STATE, since these paths are
# compiled into libvirtd, and with an empty /run: the machine's own libvirtd may hold /run/libvirtd.pid. A separate mount
# namespace leaves the machine's own folders untouched.
# USAGE: unshare --mount --propagation private private-mounts.sh STATE CACHE COMMAND...
set -euo pipefail
state=${1:?STATE} cache=${2:?CACHE}
shift 2
bind() {
    mkdir -p "$2"
    mount --bind "$1" "$2"
}
mount -t tmpfs -o mode=755 run /run
mkdir -m 1777 /run/lock # libvirtd locks the channel of a VM in /var/lock, a link to it
bind "$state/etc" /etc/libvirt
bind "$state/lib" /var/lib/libvirt
bind "$state/run" /run/libvirt
bind "$state/log" /var/log/libvirt
bind "$cache" /var/cache/libvirt
mount --bind "$state/passwd" /etc/passwd
mount --bind "$state/group" /etc/group
exec "$@"
