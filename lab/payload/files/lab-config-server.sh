#!/usr/bin/env bash
# Put together the config that the control plane's nodes are given. It carries itself, so that they can serve it in turn:
# hence a frame with two places for one packed config. USAGE: lab-config-server.sh
set -euo pipefail
frame=$(</etc/lab/config/master.frame)
packed=$(base64 --wrap=0 /etc/lab/config/master.ign.gz)
mkdir -p /run/lab
printf '%s' "${frame//@PACKED@/$packed}" >/run/lab/master.ign
