#!/usr/bin/env bash
# Check of keepalived on the bootstrap: exit 1 once the API that was ready here is ready no more.
# Before it was ready for the first time the check does not vote. USAGE: okd-own-api.sh
set -euo pipefail
was_ready=/run/okd-baremetal/own-api-was-ready
if curl -fsk --max-time 4 -o /dev/null https://localhost:6443/readyz; then
    touch "$was_ready"
elif [[ -e $was_ready ]]; then
    exit 1
fi
