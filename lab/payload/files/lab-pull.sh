#!/usr/bin/env bash
# Stands in for a pull of an image: wait until this machine can resolve the registry's name. USAGE: lab-pull.sh NAME
set -euo pipefail
until found=$(getent hosts "${1:?NAME}"); do sleep 0.5; done
echo "okd-lab: pulls from $1, which is ${found%% *}"
