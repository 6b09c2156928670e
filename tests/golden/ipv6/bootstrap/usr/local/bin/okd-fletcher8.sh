#!/usr/bin/env bash
# Prints the checksum behind a VRRP router id, which is one more, of a text like `<cluster>-api` or `<cluster>-ingress`:
# Fletcher's over two sums modulo 15, as baremetal-runtimecfg has it since 2019. USAGE: okd-fletcher8.sh TEXT
set -euo pipefail
text=${1:?TEXT} low=0 high=0
for ((index = 0; index < ${#text}; index++)); do
    printf -v byte %d "'${text:index:1}"
    ((low = (low + byte) % 15, high = (high + low) % 15, 1))
done
echo $((high << 4 | low))
