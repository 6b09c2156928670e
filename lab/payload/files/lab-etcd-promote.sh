#!/usr/bin/env bash
# Promote this node's learner to a voting member once it has caught up, then exit 0. USAGE: lab-etcd-promote.sh
set -euo pipefail
# shellcheck source=lab-etcd-api.sh
source /usr/local/bin/lab-etcd-api.sh

address=$(own_address)
await_own_etcd
while sleep 2; do
    all=$(members "$API") || continue
    mine=$(member_with "\"http://$(host_of "${address:?no address yet}"):2380\"" <<<"$all") || continue
    is_learner "$mine" || break
    # etcd refuses until the learner has started and is in sync with the leader.
    post "$API" cluster/member/promote "{\"ID\": \"$(field ID <<<"$mine")\"}" >/dev/null || true
done
say "${NODE} is a voting member"
