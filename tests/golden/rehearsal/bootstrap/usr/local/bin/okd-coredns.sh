#!/usr/bin/env bash
# Writes the site's DNS servers for CoreDNS to forward to: those of resolv.conf less this machine's own addresses.
# Exit 0 when written, 1 when there is none by the deadline. USAGE: okd-coredns.sh DEADLINE_S
set -euo pipefail
deadline_s=${1:?DEADLINE_S}
own=$(ip -o address show | awk '{sub("/.*", "", $4); print "nameserver " $4}')
until grep '^nameserver ' /etc/resolv.conf | grep -vxFe "$own" >/run/okd-baremetal/upstreams; do
    ((SECONDS < deadline_s)) || { echo "okd-coredns: /etc/resolv.conf names no other DNS server after ${deadline_s} s" >&2; exit 1; }
    sleep 0.5
done
