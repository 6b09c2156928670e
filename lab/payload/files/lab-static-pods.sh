#!/usr/bin/env bash
# Copy the machine-config operator's static pods, as bootkube does, and start a unit in place of each, as kubelet does
# with files, and with nothing else: it passes over a device. USAGE: lab-static-pods.sh
set -euo pipefail
to=/etc/kubernetes/manifests
mkdir -p "$to"
cp /opt/openshift/mco-bootstrap/manifests/* "$to"
for pod in "$to"/*; do
    name=${pod##*/} name=${name%.yaml}
    [[ -f $pod ]] || { echo "okd-lab: static pod ${name} is left out: no file" && continue; }
    echo "okd-lab: static pod ${name} starts"
    systemctl --no-block start "lab-${name}.service"
done
