# The Kubernetes API in plain shell, sourced by other lab-*.sh of the profile kubernetes.
# shellcheck shell=bash
# shellcheck source=lab-etcd-api.sh
source /usr/local/bin/lab-etcd-api.sh

say() {
    echo "okd-lab: kubernetes: $*"
}

# Prints the answer to a request as system:admin; fails if that is an error. With TYPE, standard input is its body.
kube() { # METHOD PATH [TYPE]
    local tls=/opt/openshift/tls body=()
    [[ $# -lt 3 ]] || body=(--header "Content-Type: application/$3" --data-binary @-)
    curl --silent --fail --max-time 8 --cacert "$tls/kube-apiserver-complete-server-ca-bundle.crt" \
        --cert "$tls/kube-control-plane-kube-controller-manager-client.crt" \
        --key "$tls/kube-control-plane-kube-controller-manager-client.key" \
        --request "$1" "${body[@]}" "https://${API}:6443$2"
}

# Writes the object on standard input, whether it exists or not, until the API takes it.
apply() { # PATH
    local object
    object=$(cat)
    until kube PATCH "$1?fieldManager=lab&force=true" apply-patch+yaml <<<"$object" >/dev/null; do sleep 1; done
}
