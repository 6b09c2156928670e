#!/usr/bin/env bash
# What bootkube.sh does last on OKD's bootstrap: end this machine's config server and API. When etcd has the key COMPLETE,
# the bootstrap is complete. Exit 0 then. USAGE: lab-etcd-leave.sh
set -euo pipefail
# shellcheck source=lab-etcd-api.sh
source /usr/local/bin/lab-etcd-api.sh

key=$(printf %s "$COMPLETE" | base64)
await_own_etcd
until [[ $(post localhost kv/range "{\"key\": \"$key\"}") == *'"kvs"'* ]]; do sleep 5; done
say "the bootstrap is complete: ending this machine's config server and API"
systemctl stop lab-config-server.service lab-etcd.service
