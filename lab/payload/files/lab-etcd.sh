#!/usr/bin/env bash
# Run this machine's etcd, a program of the lab's that joins and leaves by itself. Its TLS client endpoint is the API of a
# payload without a real one. USAGE: lab-etcd.sh bootstrap|node|arbiter
set -euo pipefail
# shellcheck source=lab-machine.sh
source /usr/local/bin/lab-machine.sh

address=$(own_address)
export ADDRESS=${address:?no address yet}
exec etcd "${1:?bootstrap, node or arbiter}"
