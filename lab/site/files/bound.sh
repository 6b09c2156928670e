#!/usr/bin/env bash
# Run COMMAND with SOURCE in place of the folder TARGET; `ip netns exec` has made a mount namespace for it.
# USAGE: ip netns exec NAMESPACE bound.sh SOURCE TARGET COMMAND...
set -euo pipefail
source=${1:?SOURCE} target=${2:?TARGET}
shift 2
mkdir -p "$source" "$target"
mount --bind "$source" "$target"
exec "$@"
