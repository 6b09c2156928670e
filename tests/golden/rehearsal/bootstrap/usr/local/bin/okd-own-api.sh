#!/usr/bin/env bash
# keepalived's checks on the bootstrap. Without an argument: exit 1 if this machine's API has been ready before and is not
# ready now. With `gone`, on platform baremetal: exit 1 if the other check last found it ready more than 15 s ago.
# Until the API is ready for the first time, both exit 0. USAGE: okd-own-api.sh [gone]
set -euo pipefail
was_ready=/run/okd-baremetal/own-api-was-ready
read -r uptime_s _ < /proc/uptime # the clock may be set meanwhile
uptime_s=${uptime_s%.*}
if [[ ${1:-} == gone ]]; then
    last_s=$(cat "$was_ready" 2> /dev/null || true)
    ((uptime_s - ${last_s:-$uptime_s} <= 15))
elif curl -fsk --max-time 4 -o /dev/null https://localhost:6443/readyz; then
    echo "$uptime_s" > "$was_ready"
elif [[ -e $was_ready ]]; then
    exit 1
fi
