#!/usr/bin/env bash
# keepalived's check on the bootstrap: exit 1 if this machine's API has been ready before and is not ready now.
# Until the API is ready for the first time, exit 0. USAGE: okd-own-api.sh
set -euo pipefail
was_ready=/run/okd-baremetal/own-api-was-ready
if curl -fsk --max-time 4 -o /dev/null https://localhost:6443/readyz; then
    touch "$was_ready"
elif [[ -e $was_ready ]]; then
    exit 1
fi
