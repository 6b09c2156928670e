#!/usr/bin/env bash
# Check of keepalived: exit 0 when a pod of the default router is ready on this machine, by its container runtime.
# USAGE: okd-default-router.sh
set -euo pipefail
label=ingresscontroller.operator.openshift.io/deployment-ingresscontroller=default
crictl pods --namespace openshift-ingress --label "$label" --state ready --quiet | grep -q .
