#!/usr/bin/env bash
# Fills the interface of the VIP's network into a keepalived.conf, before keepalived starts.
# The interface is looked up at each start, since OVN-Kubernetes moves a node's address to br-ex.
# Exit 0 when written, 1 when no interface is on the VIP's network by the deadline.
# USAGE: okd-keepalived.sh VIP DEADLINE_S
set -euo pipefail
vip=${1:?VIP} deadline_s=${2:?DEADLINE_S}
until interface=$(ip -4 -o route show scope link match "$vip" | grep -om1 'dev [^ ]*'); do
    ((SECONDS < deadline_s)) || { echo "okd-keepalived: no interface is on the network of ${vip} after ${deadline_s} s" >&2; exit 1; }
    sleep 0.5
done
interface=${interface#dev }
# A VIP that a killed keepalived left behind would be answered twice.
ip address delete "${vip}/32" dev "$interface" 2>/dev/null || true
sed "s/@INTERFACE@/${interface}/" /etc/okd-baremetal/keepalived.conf >/run/okd-baremetal/keepalived.conf
