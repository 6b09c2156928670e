#!/bin/busybox sh
# shellcheck shell=dash
# udhcpc calls this with a lease in its environment: address, route, host name; the DNS servers go to /run/resolv.conf.
# shellcheck disable=SC2154  # the variables are udhcpc's
[ "$1" = bound ] || exit 0
ip addr add "${ip}/${mask}" dev "${interface}"
[ -n "${router}" ] && ip route add default via "${router%% *}"
[ -n "${hostname}" ] && hostname "${hostname}"
[ -n "${domain}" ] && echo "search ${domain}" > /run/resolv.conf
for server in ${dns}; do echo "nameserver ${server}" >> /run/resolv.conf; done
exit 0
