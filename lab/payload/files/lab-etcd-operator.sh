#!/usr/bin/env bash
# As OKD's etcd operator: remove the bootstrap's member once the bootstrap is complete and every node votes, and say so in
# the operator's condition. Each node runs this. Exit 0 once it is said. USAGE: lab-etcd-operator.sh
set -euo pipefail
# shellcheck source=lab-kube-api.sh
source /usr/local/bin/lab-kube-api.sh

removed='{"status": {"conditions": [{"type": "EtcdBootstrapMemberRemoved", "status": "True"}]}}'

voters() { # MEMBERS
    local member count=0
    while read -r member; do
        [[ -z $(field name <<<"$member") ]] || is_learner "$member" || count=$((count + 1))
    done <<<"$1"
    echo "$count"
}

await_own_etcd
until [[ $(kube GET /api/v1/namespaces/kube-system/configmaps/bootstrap) == *'"status": "complete"'* ]]; do sleep 5; done
until all=$(members localhost) && ! bootstrap=$(member_with "\"name\":\"${BOOTSTRAP_NAME}\"" <<<"$all"); do
    sleep 1
    [[ -n ${bootstrap-} && $(voters "$all") -gt $CONTROL_PLANE ]] || continue
    status=$(post localhost maintenance/status '{}') || continue
    id=$(field ID <<<"$bootstrap")
    if [[ $status == *"\"leader\":\"$id\""* ]]; then
        # Without its leader, the API would fail for an election: 10 s with the times of lab-etcd.sh.
        own=$(member_with "\"name\":\"${NODE}\"" <<<"$all" | field ID)
        post "$(host_of "$BOOTSTRAP_ADDRESS")" maintenance/transfer-leadership "{\"targetID\": \"$own\"}" >/dev/null || true
    else
        say "all nodes vote: removing the bootstrap's member"
        post localhost cluster/member/remove "{\"ID\": \"$id\"}" >/dev/null || true
    fi
done
until kube PATCH /apis/operator.openshift.io/v1/etcds/cluster/status merge-patch+json <<<"$removed" >/dev/null; do
    sleep 1
done
say "the bootstrap is not a member"
