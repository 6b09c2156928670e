#!/usr/bin/env bash
# Put this machine's own CoreDNS before the site's DNS servers in /etc/resolv.conf, and the cluster's domain before
# the site's search list. Name CoreDNS by the machine's address, not by 127.0.0.1, because pods get a copy of the
# file. Write three servers at most, because glibc reads no more.
# Exit 0 when written, 1 if the machine has no address in a machine network after a minute.
# USAGE: okd-resolver.sh DOMAIN NETWORK...
set -euo pipefail
domain=${1:?DOMAIN} upstreams=/run/okd-baremetal/upstreams
shift
# Skip VIPs: they have the label `vip`, or are deprecated.
own() {
    local network
    for network; do
        ip -o address show to "$network" scope global -deprecated |
            awk '!/ vip\\/ { sub("/.*", "", $4); print $4; exit }' | grep . && return
    done
    return 1
}
until address=$(own "$@"); do
    ((SECONDS < 60)) || { echo "okd-resolver: this machine has no address in $* after 60 s" >&2; exit 1; }
    sleep 0.5
done
others=$(awk -v own="$domain" '$1 == "search" { for (i = 2; i <= NF; i++) if ($i != own) printf " %s", $i }' "$upstreams")
settings=$(
    echo "# Written by okd-resolver.sh of okd-baremetal."
    echo "search ${domain}${others}"
    echo "nameserver ${address}"
    grep -m 2 '^nameserver ' "$upstreams"
    grep '^options ' "$upstreams" || true
)
# The target of a link is a file that NetworkManager or systemd-resolved writes: replace the link only.
[[ ! -L /etc/resolv.conf ]] || rm /etc/resolv.conf
echo "$settings" >/etc/resolv.conf
