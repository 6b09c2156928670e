#!/usr/bin/env bash
# Ask the release image for the images of keepalived, haproxy, CoreDNS and dnsmasq, and write them for their units. Try for ever,
# because podman gives up after three. Exit 0 when written. USAGE: okd-images.sh RELEASE PULL_SECRET
set -euo pipefail
release=${1:?RELEASE} pull_secret=${2:?PULL_SECRET} file=/var/lib/okd-baremetal/images
ask() { podman run --rm --net=none --authfile="$pull_secret" "$release" image "$1"; }
until keepalived=$(ask keepalived-ipfailover); do sleep 5; done
until haproxy=$(ask haproxy-router); do sleep 5; done
until coredns=$(ask coredns); do sleep 5; done
until dnsmasq=$(ask ironic); do sleep 5; done
cat >"$file.new" <<END
KEEPALIVED_IMAGE=$keepalived
HAPROXY_IMAGE=$haproxy
COREDNS_IMAGE=$coredns
DNSMASQ_IMAGE=$dnsmasq
END
mv "$file.new" "$file"
