# etcd's JSON gateway in plain shell, sourced by the other lab-etcd*.sh. A member is one line of JSON. It uses neither jq
# nor Python, which the guests do not have.
# shellcheck shell=bash
# DOMAIN FAMILY MACHINE_NETWORKS ETCD_PORT BOOTSTRAP_NAME BOOTSTRAP_ADDRESS CONTROL_PLANE RETIRE_AFTER_S COMPLETE SERVICE_NETWORK
# shellcheck source=/dev/null
source /etc/lab/etcd.env

# shellcheck disable=SC2034  # used by the scripts that source this file
API=api-int.${DOMAIN}
# A bootstrap may have no name, or one that DHCP or the site's DNS gave it.
# shellcheck disable=SC2034
if [[ -s /etc/hostname ]]; then NODE=$(</etc/hostname); else NODE=$BOOTSTRAP_NAME; fi

say() {
    echo "okd-lab: etcd: $*"
}

# This node's own address of the cluster's primary family, on a machine network: a node may have a card on another one. A
# VIP, which the node may hold, has a label or is deprecated.
own_address() {
    local network
    for network in $MACHINE_NETWORKS; do
        ip "-${FAMILY}" -o address show to "$network" scope global -deprecated
    done | awk '!/ vip\\/ && !seen++ { sub("/.*", "", $4); print $4 }'
}

# As a URL has it.
host_of() { # ADDRESS
    if [[ $1 == *:* ]]; then echo "[$1]"; else echo "$1"; fi
}

# Only a voter answers: a learner refuses. Prints the answer; fails if that is an error.
post() { # HOST CALL JSON
    curl --silent --fail --cacert /etc/lab/ca.crt --max-time 8 --data "$3" "https://$1:${ETCD_PORT}/v3/$2"
}

# Members in an answer, one per line.
members_of() { # ANSWER
    grep -o '{"ID":"[^}]*}' <<<"${1#*'"members":'}"
}

# Members as the whole cluster sees them, one per line.
members() { # HOST
    local answer
    answer=$(post "$1" cluster/member/list '{"linearizable": true}') || return
    members_of "$answer"
}

# A bare connect, since curl would take too much of the emulated core from etcd.
await_own_etcd() {
    until (: </dev/tcp/127.0.0.1/"$ETCD_PORT") 2>/dev/null; do sleep 0.5; done
}

# Of all members on standard input, the one with this text in its line.
member_with() { # TEXT
    grep -F -- "$1"
}

# A text field of the member on standard input, or nothing. For a list, its first entry.
field() { # NAME
    sed -n "s/.*\"$1\":\[\{0,1\}\"\([^\"]*\)\".*/\1/p"
}

is_learner() { # MEMBER
    [[ $1 == *'"isLearner":true'* ]]
}
