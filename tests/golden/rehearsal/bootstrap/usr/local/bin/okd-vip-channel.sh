#!/usr/bin/env bash
# Takes `release`, `hold` or `status` from the provisioner over the virtio-serial channel, sets the priority that
# keepalived adds to its own, and answers `<state> vip=<yes|no> api=<yes|no>`. Runs until stopped.
# USAGE: okd-vip-channel.sh
set -euo pipefail
file=/var/lib/okd-baremetal/release
port=/dev/virtio-ports/org.okd-baremetal.vip
yes_if() { if "$@" >/dev/null 2>&1; then echo yes; else echo no; fi; }
holds_vip() { ip -4 -o address show to 192.168.111.5/32 | grep -q .; }
api_ready() { curl -fsk --max-time 2 -o /dev/null https://localhost:6443/readyz; }

exec 3<>"$port"
while :; do
    # The port reads as ended while nobody is connected on the other side.
    read -r word <&3 || { sleep 0.2; continue; }
    case $word in
        release) echo -20 >"$file" ;;
        hold) echo 0 >"$file" ;;
        status) ;;
        *) echo "unknown word" >&3; continue ;;
    esac
    state=held
    [[ $(<"$file") == 0 ]] || state=released
    echo "$state vip=$(yes_if holds_vip) api=$(yes_if api_ready)" >&3
done
