#!/usr/bin/env bash
# Remove the bootstrap's member once its API has been unreachable for RETIRE_AFTER_S seconds without a break, and only
# when all of the control plane is there to go on. Runs on each of its nodes: who comes late finds it done.
# Exit 0 when the bootstrap is no member (any more). USAGE: lab-etcd-retire.sh
set -euo pipefail
source /usr/local/bin/lab-etcd-api.sh

is_ready() { # ADDRESS
    curl --silent --fail --insecure --max-time 4 --output /dev/null "https://$1:6443/readyz"
}

# Every node of the control plane is a started voter and ready: a majority of what remains when the bootstrap is gone.
is_safe() { # MEMBERS
    local member count=0
    while read -r member; do
        [[ $(field name <<<"$member") == "$BOOTSTRAP" ]] && continue
        [[ -n $(field name <<<"$member") ]] && ! is_learner "$member" || return
        is_ready "$(field peerURLs <<<"$member" | sed 's|http://\(.*\):2380|\1|')" || return
        count=$((count + 1))
    done <<<"$1"
    ((count == CONTROL_PLANE))
}

reached=$SECONDS
while sleep 1; do
    # Not a voter yet, or no majority: what is not known is no reason to remove anything.
    all=$(members localhost) || { reached=$SECONDS; continue; }
    bootstrap=$(member_with "\"name\":\"${BOOTSTRAP}\"" <<<"$all") || break
    url=$(field clientURLs <<<"$bootstrap")
    if curl --silent --insecure --max-time 3 --output /dev/null "${url}/livez"; then
        reached=$SECONDS
    elif ((SECONDS - reached > RETIRE_AFTER_S)) && is_safe "$all"; then
        say "the bootstrap has been unreachable for $((SECONDS - reached)) s: removing its member"
        post localhost remove "{\"ID\": \"$(field ID <<<"$bootstrap")\"}" >/dev/null || true
    fi
done
say "the bootstrap is no member"
