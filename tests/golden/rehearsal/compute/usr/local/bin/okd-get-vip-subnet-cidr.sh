#!/usr/bin/env bash
# Print the network of a VIP, this machine's interface on that network, and this machine's own address there.
# Networks that routers advertise count, because DHCPv6 gives bare /128 addresses. If no interface is on the VIP's
# network by the deadline, print the interface of the default route. Exit 1 if there is no default route either.
# USAGE: okd-get-vip-subnet-cidr.sh VIP DEADLINE_S       prints CIDR INTERFACE ADDRESS
set -euo pipefail
vip=${1:?VIP} deadline_s=${2:?DEADLINE_S}
family=-4 everything=0.0.0.0/0
[[ $vip != *:* ]] || family=-6 everything=::/0

# The directly connected route with the longest prefix. A route without a prefix is that of a VIP on this machine.
on_link() {
    ip "$family" -o route show match "$vip" | awk '$1 ~ "/" && !/ via | linkdown/ {
        split($1, net, "/"); if (net[2] >= longest) { longest = net[2]; found = $0 } } END { print found }'
}
interface_of() { grep -om1 'dev [^ ]*' <<<"$1" | cut -d ' ' -f 2; }
# Skip VIPs: they have the label `vip`, or are deprecated.
address_in() {
    ip "$family" -o address show dev "$2" to "$1" scope global -deprecated | awk '!/ vip\\/ { sub("/.*", "", $4); print $4; exit }'
}
try() {
    local interface address
    interface=$(interface_of "$2") && address=$(address_in "$1" "$interface") && [[ $address ]] && echo "$1 $interface $address"
}

until route=$(on_link) && [[ $route ]] && try "${route%% *}" "$route"; do
    if ((SECONDS >= deadline_s)); then
        try "$everything" "$(ip "$family" -o route show default)" && exit
        echo "okd-get-vip-subnet-cidr: no interface is on the network of ${vip}, and none has a default route, after ${deadline_s} s" >&2
        exit 1
    fi
    sleep 0.5
done
