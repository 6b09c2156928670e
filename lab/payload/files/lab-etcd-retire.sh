#!/usr/bin/env bash
# Remove the bootstrap's member once its API has been unreachable for RETIRE_AFTER_S seconds without a break, and only if
# the whole control plane is ready. Each node runs this; the first one that can removes the member, and the others exit.
# Exit 0 once the bootstrap is not a member. USAGE: lab-etcd-retire.sh
set -euo pipefail
# shellcheck source=lab-etcd-api.sh
source /usr/local/bin/lab-etcd-api.sh

is_ready() { # URL
    curl --silent --fail --cacert /etc/lab/ca.crt --max-time 8 --output /dev/null "$1/readyz"
}

# Every node of the control plane is a started, ready voter, so a majority remains without the bootstrap.
is_safe() { # MEMBERS
    local member count=0
    while read -r member; do
        [[ $(field name <<<"$member") == "$BOOTSTRAP_NAME" ]] && continue
        [[ -n $(field name <<<"$member") ]] && ! is_learner "$member" || return
        is_ready "$(field clientURLs <<<"$member")" || return
        count=$((count + 1))
    done <<<"$1"
    ((count == CONTROL_PLANE))
}

# A bare connect by the shell: a TLS client would use a quarter of an emulated guest's core, and an API that answers "not
# ready" still counts as reachable.
bootstrap_answers() {
    timeout 3 bash -c ": </dev/tcp/${BOOTSTRAP_ADDRESS}/6443" 2>/dev/null
}

await_own_etcd
until all=$(members localhost); do sleep 3; done # a learner refuses
reached=$SECONDS
while bootstrap=$(member_with "\"name\":\"${BOOTSTRAP_NAME}\"" <<<"$all"); do
    sleep 2
    if bootstrap_answers; then
        reached=$SECONDS
    elif ((SECONDS - reached > RETIRE_AFTER_S)); then
        # Without a majority there is no answer, and then it removes nothing.
        seen=$(members localhost) || continue
        all=$seen
        if bootstrap=$(member_with "\"name\":\"${BOOTSTRAP_NAME}\"" <<<"$all") && is_safe "$all"; then
            say "the bootstrap has been unreachable for $((SECONDS - reached)) s: removing its member"
            post localhost cluster/member/remove "{\"ID\": \"$(field ID <<<"$bootstrap")\"}" >/dev/null || true
        fi
    fi
done
say "the bootstrap is not a member"
