#!/usr/bin/env bash
# Fill the interface of each VIP's network into keepalived.conf. Runs before each start of keepalived, because
# OVN-Kubernetes moves a node's address to br-ex.
# Exit 0 when written, 1 if a VIP has no interface by the deadline. USAGE: okd-keepalived.sh DEADLINE_S VIP...
set -euo pipefail
deadline_s=${1:?DEADLINE_S}
shift
conf=$(</etc/okd-baremetal/keepalived.conf)
for vip; do
    network=$("${0%/*}/okd-get-vip-subnet-cidr.sh" "$vip" "$deadline_s")
    read -r _ interface _ <<<"$network"
    # Remove the VIP and its route that a killed keepalived left behind: two machines would answer it.
    bits=32
    [[ $vip != *:* ]] || bits=128
    ip address delete "${vip}/${bits}" dev "$interface" 2>/dev/null || true
    ip route delete local "$vip" dev lo table local proto keepalived 2>/dev/null || true
    conf=${conf//"@INTERFACE:${vip}@"/$interface}
done
echo "$conf" >/run/okd-baremetal/keepalived.conf
