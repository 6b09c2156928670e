#!/usr/bin/env bash
# Print which services of okd-baremetal are on this node. USAGE: lab-own-files.sh
set -euo pipefail
shopt -s nullglob
found=(/etc/okd-baremetal* /etc/systemd/system/okd-* /usr/local/bin/okd-*)
echo "okd-lab: services of okd-baremetal here: ${found[*]:-none}"
