#!/usr/bin/env bash
# Check of keepalived: exit 0 when a health page on this machine answers 200, 1 when not. Plain bash, for it runs
# every second or two for good: it costs half of what curl does. USAGE: okd-check.sh PORT PATH
set -euo pipefail
exec 3<>"/dev/tcp/127.0.0.1/${1:?PORT}"
printf 'GET %s HTTP/1.0\r\n\r\n' "${2:?PATH}" >&3
read -r _ status _ <&3
[[ $status == 200 ]]
