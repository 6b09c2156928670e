#!/usr/bin/env bash
# Run etcd, whose TLS client endpoint is this payload's API. `new` starts a cluster of one. `join` joins the cluster behind
# api-int as a learner, and retries until it succeeds; its /readyz fails until lab-etcd-promote.sh has finished. A node
# with data is a member already and only starts. USAGE: lab-etcd.sh new|join
set -euo pipefail
# shellcheck source=lab-etcd-api.sh
source /usr/local/bin/lab-etcd-api.sh

mode=${1:?new or join}
data=/var/lib/lab-etcd
address=$(own_address)
host=$(host_of "${address:?no address yet}")
peer=http://${host}:2380

# Prints name=URL of all members, including this one; fails if the caller must retry.
join() {
    local answer all mine member name
    # etcd refuses while another node is a learner, since it allows one at a time, or if this one was added before.
    if answer=$(post "$API" cluster/member/add "{\"peerURLs\": [\"$peer\"], \"isLearner\": true}"); then
        all=$(members_of "$answer")
    else
        all=$(members "$API") && mine=$(member_with "\"$peer\"" <<<"$all") || return
        if [[ -n $(field name <<<"$mine") ]]; then
            say "this node was a member before and has lost its data: removing that member" >&2
            post "$API" cluster/member/remove "{\"ID\": \"$(field ID <<<"$mine")\"}" >/dev/null || true
            return 1
        fi
    fi
    while read -r member; do
        name=$(field name <<<"$member")
        [[ $(field peerURLs <<<"$member") == "$peer" ]] && name=$NODE
        printf '%s=%s,' "${name:-not-started}" "$(field peerURLs <<<"$member")"
    done <<<"$all"
}

cluster=$NODE=$peer state=new
if [[ $mode == join && ! -d $data/member ]]; then
    say "joining through https://${API}:${ETCD_PORT}"
    until cluster=$(join); do sleep 2; done
    cluster=${cluster%,} state=existing
fi
say "starting ${NODE} at ${address} with ${cluster}"

# The times suit emulated guests, which may get no core for a second. The strict check would make each member wait until
# the previous one has been connected for 5 s: three joined in 12 s instead of 2 s (etcd 3.6.8, 2026-11). It is not needed
# here: a member that joins is a learner first, and lab-etcd-retire.sh has checks of its own.
exec etcd --name "$NODE" --data-dir "$data" --log-level error \
    --heartbeat-interval 500 --election-timeout 5000 --strict-reconfig-check=false \
    --listen-client-urls "https://[::]:${ETCD_PORT}" --advertise-client-urls "https://${host}:${ETCD_PORT}" \
    --cert-file /etc/lab/server.crt --key-file /etc/lab/server.key \
    --listen-peer-urls "$peer" --initial-advertise-peer-urls "$peer" \
    --initial-cluster "$cluster" --initial-cluster-state "$state"
