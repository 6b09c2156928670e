# etcd's JSON gateway in plain shell, for the other lab-etcd*.sh to source. A member is one line of JSON; nothing here
# needs jq or Python, which the guests do not have.
# shellcheck shell=bash
# DOMAIN BOOTSTRAP_NAME BOOTSTRAP_ADDRESS CONTROL_PLANE RETIRE_AFTER_S
# shellcheck source=/dev/null
source /etc/lab/etcd.env

# shellcheck disable=SC2034  # for those who source this
API=api-int.${DOMAIN}

say() {
    echo "okd-lab: etcd: $*"
}

# This node's own address: a VIP that it may hold has prefix length 32.
own_address() {
    ip -4 -o address show scope global | awk '$4 !~ "/32$" { sub("/.*", "", $4); print $4; exit }'
}

# The member that POSTs here is always a voter: a learner refuses. Prints the answer; fails when it is an error.
post() { # HOST CALL JSON
    curl --silent --fail --cacert /etc/lab/ca.crt --max-time 8 --data "$3" "https://$1:6443/v3/cluster/member/$2"
}

# Members in an answer, one per line.
members_of() { # ANSWER
    grep -o '{"ID":"[^}]*}' <<<"${1#*'"members":'}"
}

# Members as the whole cluster sees them, one per line.
members() { # HOST
    local answer
    answer=$(post "$1" list '{"linearizable": true}') || return
    members_of "$answer"
}

# Until then there is nothing to ask; curl would only take the emulated core from etcd.
await_own_etcd() {
    until (: </dev/tcp/127.0.0.1/6443) 2>/dev/null; do sleep 0.5; done
}

# Of all members on standard input, the one with this text in its line.
member_with() { # TEXT
    grep -F -- "$1"
}

# A text field of the member on standard input, or nothing. Of a list, its first entry.
field() { # NAME
    sed -n "s/.*\"$1\":\[\{0,1\}\"\([^\"]*\)\".*/\1/p"
}

is_learner() { # MEMBER
    [[ $1 == *'"isLearner":true'* ]]
}
