#!/usr/bin/env bash
# keepalived's check on the bootstrap: exit 1 if this machine's API is not ready.
# With `gone`, only if it has been ready since this machine's start. USAGE: okd-own-api.sh [gone]
set -euo pipefail
was_ready=/run/okd-baremetal/own-api-was-ready
if curl -fsk --max-time 4 -o /dev/null https://localhost:6443/readyz; then
    touch "$was_ready"
elif [[ ${1:-} != gone || -e $was_ready ]]; then
    exit 1
fi
