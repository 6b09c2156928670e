#!/usr/bin/env bash
# Read `release`, `leave`, `hold` or `status` from the provisioner on the virtio-serial channel, write the number that
# keepalived adds to its priority, and answer `<state> vip=<yes|no> api=<yes|no>`. Runs until stopped.
# USAGE: okd-vip-channel.sh
set -euo pipefail
file=/var/lib/okd-baremetal/release
port=/dev/virtio-ports/org.okd-baremetal.vip
vips=(fd2e::5/128)
yes_if() { if "$@" >/dev/null 2>&1; then echo yes; else echo no; fi; }
holds_a_vip() { for vip in "${vips[@]}"; do ip -o address show to "$vip"; done | grep -v ': lo '; }
api_ready() { curl -fsk --max-time 2 -o /dev/null https://localhost:6443/readyz; }

# From `leave` until some seconds after the VIP has left, keep it on lo too, to accept the connections that were on
# their way while it moved. With arp_ignore=1 the machine answers no ARP request for an address of lo. Without this, one
# of 421 connects was lost on slow machines; counted from the release, one of 1,445 (2026-11).
echo 1 >/proc/sys/net/ipv4/conf/all/arp_ignore
on_lo() { for vip in "${vips[@]}"; do ip address "$1" "$vip" dev lo; done; }
let_go() {
    on_lo replace
    echo -254 >"$file"
    (while [[ $(<"$file") != 0 ]] && holds_a_vip >/dev/null; do sleep 1; done; sleep 15; on_lo delete) &
}
# keepalived announces the VIP only when it becomes MASTER: give the VIP up, then take it.
take_back() {
    [[ $(<"$file") != 0 ]] || return 0
    echo -254 >"$file"
    for ((tries = 0; tries < 20; tries++)); do holds_a_vip >/dev/null || break; sleep 0.1; done
    echo 0 >"$file"
}

exec 3<>"$port"
exec 4<> <(:) # never has data: a timed read of it sleeps without starting a process
while :; do
    # A read returns end of file while the provisioner is not connected.
    read -r word <&3 || { read -rt 0.2 <&4 || true; continue; }
    case $word in
        # keepalived does not hear the nodes: it keeps the VIP beside the one that takes it.
        release) echo -20 >"$file" ;;
        leave) let_go ;;
        hold) take_back ;;
        status) ;;
        *) echo "unknown word" >&3; continue ;;
    esac
    state=held
    [[ ! -e $file || $(<"$file") == 0 ]] || state=released
    echo "$state vip=$(yes_if holds_a_vip) api=$(yes_if api_ready)" >&3
done
