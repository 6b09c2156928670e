#!/usr/bin/env bash
# Remove the bootstrap's member once its API has been unreachable for RETIRE_AFTER_S seconds without a break, and only
# when all of the control plane is there to go on. Runs on each of its nodes: who comes late finds it done.
# Exit 0 when the bootstrap is no member (any more). USAGE: lab-etcd-retire.sh
set -euo pipefail
# shellcheck source=lab-etcd-api.sh
source /usr/local/bin/lab-etcd-api.sh

is_ready() { # URL
    curl --silent --fail --cacert /etc/lab/ca.crt --max-time 8 --output /dev/null "$1/readyz"
}

# Every node of the control plane is a started voter and ready: a majority of what remains when the bootstrap is gone.
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

# A bare connect, by the shell: a TLS client would take an emulated guest a quarter of its core, and an API that
# answers "not ready" is still there.
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
        # Without a majority there is no answer: what is not known is no reason to remove anything.
        seen=$(members localhost) || continue
        all=$seen
        if bootstrap=$(member_with "\"name\":\"${BOOTSTRAP_NAME}\"" <<<"$all") && is_safe "$all"; then
            say "the bootstrap has been unreachable for $((SECONDS - reached)) s: removing its member"
            post localhost remove "{\"ID\": \"$(field ID <<<"$bootstrap")\"}" >/dev/null || true
        fi
    fi
done
say "the bootstrap is no member"
