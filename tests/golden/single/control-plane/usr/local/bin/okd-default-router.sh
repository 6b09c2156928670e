#!/usr/bin/env bash
# keepalived's check: exit 0 if this machine's container runtime reports a ready pod of the default router.
# USAGE: okd-default-router.sh
set -euo pipefail
label=ingresscontroller.operator.openshift.io/deployment-ingresscontroller=default
chroot /host crictl pods --namespace openshift-ingress --label "$label" --state ready --quiet | grep -q .
