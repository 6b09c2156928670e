#!/usr/bin/env bash
# Write the site's DNS settings, to which CoreDNS forwards: resolv.conf without this machine's own addresses.
# Exit 0 when written, 1 if resolv.conf names no other server by the deadline. USAGE: okd-coredns.sh DEADLINE_S
set -euo pipefail
deadline_s=${1:?DEADLINE_S}
# Prefer NetworkManager's copy: okd-resolver.sh rewrites /etc/resolv.conf, but not that copy.
# One blank between words: resolv.conf may have tabs, and blanks at the end.
site() { { cat /run/NetworkManager/resolv.conf 2>/dev/null || cat /etc/resolv.conf; } | awk '{ $1 = $1; print }'; }
own=$(ip -o address show | awk '{sub("/.*", "", $4); print "nameserver " $4}')
until found=$(site | grep -vxFe "$own" | grep -v '^nameserver 127\.') && grep -q '^nameserver ' <<<"$found"; do
    ((SECONDS < deadline_s)) || { echo "okd-coredns: /etc/resolv.conf names no other DNS server after ${deadline_s} s" >&2; exit 1; }
    sleep 0.5
done
echo "$found" >/run/okd-baremetal/upstreams
