#!/usr/bin/env bash
# keepalived's checks on the bootstrap. Without an argument: exit 1 if this machine's API is not ready.
# With a number, on platform baremetal: exit 1 if the other check last found it ready more than so many seconds ago; exit 0
# until it was ready for the first time. USAGE: okd-own-api.sh [SECONDS]
set -euo pipefail
was_ready=/run/okd-baremetal/own-api-was-ready
read -r uptime_s _ < /proc/uptime # the clock may be set meanwhile
uptime_s=${uptime_s%.*}
if [[ ${1:-} ]]; then
    last_s=$(cat "$was_ready" 2> /dev/null || true)
    ((uptime_s - ${last_s:-$uptime_s} <= $1))
elif curl -fsk --max-time 4 -o /dev/null https://localhost:6443/readyz; then
    echo "$uptime_s" > "$was_ready"
else
    exit 1
fi
