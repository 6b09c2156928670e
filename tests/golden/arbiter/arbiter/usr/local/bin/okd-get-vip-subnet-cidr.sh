#!/usr/bin/env bash
# Print the network of a VIP, this machine's interface on that network, and this machine's own address there.
# Networks that routers advertise count, because DHCPv6 gives bare /128 addresses. Exit 1 if no interface is on the VIP's
# network by the deadline: on another interface, nobody would ask this machine for the VIP.
# USAGE: okd-get-vip-subnet-cidr.sh VIP DEADLINE_S       prints CIDR INTERFACE ADDRESS
set -euo pipefail
vip=${1:?VIP} deadline_s=${2:?DEADLINE_S}
family=-4
[[ $vip != *:* ]] || family=-6

# The directly connected routes, the longest prefix first, then the lowest metric, which `ip` lists first. A route without
# a prefix is the default one, or that of a VIP on this machine.
on_link() {
    ip "$family" -o route show match "$vip" | awk '$1 ~ "/" && !/ via | linkdown/ {
        split($1, net, "/"); for (i = 2; i < NF; i++) if ($i == "dev") { print net[2], $1, $(i + 1); next } }' | sort -srnk 1,1
}
# Skip VIPs: they have the label `vip`, or are deprecated. Skip this VIP also where the site set it as a static address.
address_in() {
    ip "$family" -o address show dev "$2" to "$1" scope global -deprecated |
        awk -v vip="$vip" '!/ vip\\/ { sub("/.*", "", $4); if ($4 != vip) { print $4; exit } }'
}
try() {
    local network interface address
    while read -r _ network interface; do
        address=$(address_in "$network" "$interface")
        [[ -z $address ]] || { echo "$network $interface $address" && return; }
    done < <(on_link)
    return 1
}

until try; do
    ((SECONDS < deadline_s)) || {
        echo "okd-get-vip-subnet-cidr: no interface is on the network of ${vip} after ${deadline_s} s" >&2
        exit 1
    }
    sleep 0.5
done
