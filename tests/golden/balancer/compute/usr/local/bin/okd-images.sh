#!/usr/bin/env bash
# Ask the release image for the image of CoreDNS, and write it for its unit. Try for ever,
# because podman gives up after three. Exit 0 when written. USAGE: okd-images.sh RELEASE PULL_SECRET
set -euo pipefail
release=${1:?RELEASE} pull_secret=${2:?PULL_SECRET} file=/var/lib/okd-baremetal/images
ask() { podman run --rm --net=none --authfile="$pull_secret" "$release" image "$1"; }
until coredns=$(ask coredns); do sleep 5; done
cat >"$file.new" <<END
COREDNS_IMAGE=$coredns
END
mv "$file.new" "$file"
