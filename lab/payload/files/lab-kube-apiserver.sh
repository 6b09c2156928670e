#!/usr/bin/env bash
# Run the API server on this machine's own etcd. Certificates are chosen by the name that a client asks for.
# USAGE: lab-kube-apiserver.sh
set -euo pipefail
# shellcheck source=lab-machine.sh
source /usr/local/bin/lab-machine.sh

cd /opt/openshift/tls
by_name=()
for name in localhost lb internal-lb; do
    by_name+=(--tls-sni-cert-key "kube-apiserver-${name}-server.crt,kube-apiserver-${name}-server.key")
done
# All APIs and their fair queues would take half a core more of four emulated machines. With the watch cache, a server at
# rest takes half as much again (2026-11).
apis=api/all=false,api/v1=true
for api in admissionregistration apiextensions apiregistration apps authentication authorization certificates \
    coordination discovery events networking node policy rbac.authorization resource scheduling storage; do
    [[ $api == apps || $api == policy ]] || api=$api.k8s.io
    apis+=,$api/v1=true
done
# While it ends, /readyz fails before the port closes, so that the VIP leaves in time.
exec kubernetes kube-apiserver --etcd-servers "https://localhost:${ETCD_PORT}" --etcd-cafile /etc/lab/ca.crt \
    --secure-port 6443 --advertise-address "$(own_address)" --service-cluster-ip-range "$SERVICE_NETWORK" \
    --tls-cert-file kube-apiserver-service-network-server.crt \
    --tls-private-key-file kube-apiserver-service-network-server.key "${by_name[@]}" \
    --client-ca-file kube-apiserver-complete-client-ca-bundle.crt \
    --kubelet-client-certificate kube-apiserver-to-kubelet-client.crt \
    --kubelet-client-key kube-apiserver-to-kubelet-client.key \
    --service-account-issuer https://kubernetes.default.svc --service-account-key-file service-account.pub \
    --service-account-signing-key-file service-account.key \
    --authorization-mode Node,RBAC --enable-admission-plugins NodeRestriction --profiling=false \
    --runtime-config "$apis" --enable-priority-and-fairness=false --watch-cache=false \
    --shutdown-delay-duration "${SHUTDOWN_S}s"
