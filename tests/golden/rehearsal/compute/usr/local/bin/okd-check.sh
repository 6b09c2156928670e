#!/usr/bin/env bash
# keepalived's check: exit 0 if a health page of this machine answers 200, else 1. keepalived runs it every second or
# two, and plain bash costs half as much as curl. USAGE: okd-check.sh PORT PATH
set -euo pipefail
exec 3<>"/dev/tcp/127.0.0.1/${1:?PORT}"
printf 'GET %s HTTP/1.0\r\n\r\n' "${2:?PATH}" >&3
read -r _ status _ <&3
[[ $status == 200 ]]
