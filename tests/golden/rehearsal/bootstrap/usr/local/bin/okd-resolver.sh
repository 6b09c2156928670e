#!/usr/bin/env bash
# Put this machine's own CoreDNS before the site's DNS servers in /etc/resolv.conf, and the cluster's domain before
# the site's search list. Name CoreDNS by the machine's address, not by 127.0.0.1, because pods get a copy of the
# file. Write three servers at most, because glibc reads no more.
# Exit 0 when written. USAGE: okd-resolver.sh VIP DOMAIN
set -euo pipefail
vip=${1:?VIP} domain=${2:?DOMAIN} upstreams=/run/okd-baremetal/upstreams
network=$("${0%/*}/okd-get-vip-subnet-cidr.sh" "$vip" 60)
others=$(awk -v own="$domain" '$1 == "search" { for (i = 2; i <= NF; i++) if ($i != own) printf " %s", $i }' "$upstreams")
settings=$(
    echo "# Written by okd-resolver.sh of okd-baremetal."
    echo "search ${domain}${others}"
    echo "nameserver ${network##* }"
    grep -m 2 '^nameserver ' "$upstreams"
    grep '^options ' "$upstreams" || true
)
# The target of a link is a file that NetworkManager or systemd-resolved writes: replace the link only.
[[ ! -L /etc/resolv.conf ]] || rm /etc/resolv.conf
echo "$settings" >/etc/resolv.conf
