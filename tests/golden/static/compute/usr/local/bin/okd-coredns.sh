#!/usr/bin/env bash
# Writes the site's DNS settings for CoreDNS to forward to: those of resolv.conf less this machine's own addresses.
# Exit 0 when written, 1 when they name no server by the deadline. USAGE: okd-coredns.sh DEADLINE_S
set -euo pipefail
deadline_s=${1:?DEADLINE_S}
# NetworkManager keeps its own copy, which okd-resolver.sh leaves alone.
site() { cat /run/NetworkManager/resolv.conf 2>/dev/null || cat /etc/resolv.conf; }
own=$(ip -o address show | awk '{sub("/.*", "", $4); print "nameserver " $4}')
until found=$(site | grep -vxFe "$own" | grep -v '^nameserver 127\.') && grep -q '^nameserver ' <<<"$found"; do
    ((SECONDS < deadline_s)) || { echo "okd-coredns: /etc/resolv.conf names no other DNS server after ${deadline_s} s" >&2; exit 1; }
    sleep 0.5
done
echo "$found" >/run/okd-baremetal/upstreams
