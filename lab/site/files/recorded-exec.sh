#!/usr/bin/env bash
# Write this process's id and start time (clock ticks since boot) to RECORD, then become COMMAND with the same two.
# USAGE: recorded-exec.sh RECORD COMMAND...
set -euo pipefail
record=${1:?RECORD}
shift
stat=$(</proc/$$/stat)
read -ra fields <<<"${stat##*) }" # the program's name, in brackets before them, may hold spaces
printf '%s %s\n' "$$" "${fields[19]}" >"$record"
exec "$@"
