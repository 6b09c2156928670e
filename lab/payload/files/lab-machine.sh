# What the payload's scripts know of their machine, for sourcing: the environment of the cluster, NODE and own_address.
# shellcheck shell=bash
# DOMAIN FAMILY MACHINE_NETWORKS ETCD_PORT BOOTSTRAP_NAME BOOTSTRAP_ADDRESS ETCD_MEMBERS API_SERVERS RETIRE_AFTER_S COMPLETE SERVICE_NETWORK SHUTDOWN_S FENCED
set -a
# shellcheck source=/dev/null
source /etc/lab/cluster.env
# A bootstrap may have no name, or one that DHCP or the site's DNS gave it.
# shellcheck disable=SC2034  # used by the scripts that source this file, and by their programs
if [[ -s /etc/hostname ]]; then NODE=$(</etc/hostname); else NODE=$BOOTSTRAP_NAME; fi
set +a

# This machine's own address of the cluster's primary family, on a machine network: it may have a card on another one. A
# VIP, which a node may hold, has a label or is deprecated.
own_address() {
    local network
    for network in $MACHINE_NETWORKS; do
        ip "-${FAMILY}" -o address show to "$network" scope global -deprecated
    done | awk '!/ vip\\/ && !seen++ { sub("/.*", "", $4); print $4 }'
}
