#!/usr/bin/env bash
# What bootkube.sh and approve-csr.sh do on OKD's bootstrap: let nodes join, end this machine's own API once two of them
# serve, and say that the bootstrap is complete. Exit 0 then. USAGE: lab-bootkube.sh
set -euo pipefail
# shellcheck source=lab-kube-api.sh
source /usr/local/bin/lab-kube-api.sh

manifests=/opt/openshift/manifests
requests=/apis/certificates.k8s.io/v1/certificatesigningrequests
approval='{"status": {"conditions": [{"type": "Approved", "status": "True", "reason": "Bootkube"}]}}'

# Every request, whoever made it.
approve_all() {
    local -A approved=()
    local name
    while sleep 20; do
        for name in $(kube GET "$requests" | sed -n 's/.*"name": "\(csr-[^"]*\)".*/\1/p'); do
            [[ -z ${approved[$name]-} ]] || continue
            kube PATCH "$requests/$name/approval" merge-patch+json <<<"$approval" >/dev/null || continue
            approved[$name]=yes
            say "approved $name"
        done
    done
}

# An API server lists its address here while it is ready.
api_servers() {
    kube GET /api/v1/namespaces/default/endpoints/kubernetes | grep -c '"ip":'
}

ready_nodes() {
    kube GET /api/v1/nodes | tr -d '\n' | grep -o '"type": "Ready", *"status": "True"' | wc -l
}

rbac=/apis/rbac.authorization.k8s.io/v1/clusterrolebindings
apply "$rbac/system-bootstrap-node-bootstrapper" <"$manifests/node-bootstrapper.yaml"
apply /apis/apiextensions.k8s.io/v1/customresourcedefinitions/etcds.operator.openshift.io <"$manifests/etcds-crd.yaml"
apply /apis/operator.openshift.io/v1/etcds/cluster <"$manifests/etcd.yaml"
say "the API serves"
approve_all &
trap 'kill $!' EXIT

until [[ $(api_servers) -ge 3 ]]; do sleep 5; done
say "two nodes serve: ending this machine's own API"
systemctl stop --no-block lab-kube-apiserver.service lab-kube-controller-manager.service

until [[ $(ready_nodes) -ge $CONTROL_PLANE ]]; do sleep 5; done
apply /api/v1/namespaces/kube-system/configmaps/bootstrap <"$manifests/bootstrap.yaml"
say "complete"
