#!/usr/bin/env bash
# Write the config that this machine serves to the control plane. The config contains a copy of itself, so that each node
# can serve it too: hence a frame with two places for one packed config. USAGE: lab-config-server.sh
set -euo pipefail
frame=$(</etc/lab/config/master.frame)
packed=$(base64 --wrap=0 /etc/lab/config/master.ign.gz)
mkdir -p /run/lab
printf '%s' "${frame//@PACKED@/$packed}" >/run/lab/master.ign
