#!/usr/bin/env bash
# Wait until the API of each control-plane node before this one is ready, as OKD's operator starts one after the other: three
# at once on two cores take five minutes (2026-11). A node that is late holds the others up once, for three minutes.
# USAGE: lab-in-turn.sh
set -euo pipefail
shopt -s nullglob
# shellcheck source=lab-machine.sh
source /usr/local/bin/lab-machine.sh
[[ ! -e /run/lab-in-turn ]] || exit 0
own=$(own_address)
for conf in /etc/lab/keepalived/*.conf; do
    address=${conf##*/} address=${address%.conf}
    [[ $address != "$own" ]] || break
    [[ $address != *:* ]] || address="[$address]"
    for _ in {1..60}; do
        ! curl -fks --max-time 3 "https://$address:6443/readyz" > /dev/null || break
        sleep 3
    done
done
touch /run/lab-in-turn
