# etcd's JSON gateway in plain shell, sourced by the other lab-etcd*.sh. A member is one line of JSON. It uses neither jq
# nor Python, which the guests do not have.
# shellcheck shell=bash
# DOMAIN ETCD_PORT BOOTSTRAP_NAME BOOTSTRAP_ADDRESS CONTROL_PLANE RETIRE_AFTER_S SERVICE_NETWORK
# shellcheck source=/dev/null
source /etc/lab/etcd.env

# shellcheck disable=SC2034  # used by the scripts that source this file
API=api-int.${DOMAIN}
# Without DHCP, the name is what the site's DNS calls the address, with its domain.
# shellcheck disable=SC2034
NODE=${HOSTNAME%%.*}

say() {
    echo "okd-lab: etcd: $*"
}

# This node's own address. A VIP, which the node may hold, is the one with prefix length 32.
own_address() {
    ip -4 -o address show scope global | awk '$4 !~ "/32$" { sub("/.*", "", $4); print $4; exit }'
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
