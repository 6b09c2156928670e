#!/usr/bin/env bash
# Ask the release image for the services' images, and write them for their units. One container answers for all: the
# release is made of the cluster-version operator's image, whose base has a shell. Try for ever, because podman gives up
# after three. Exit 0 when written. USAGE: okd-images.sh RELEASE PULL_SECRET
set -euo pipefail
release=${1:?RELEASE} pull_secret=${2:?PULL_SECRET} file=/var/lib/okd-baremetal/images
wanted=(KEEPALIVED_IMAGE=keepalived-ipfailover COREDNS_IMAGE=coredns DNSMASQ_IMAGE=ironic HAPROXY_IMAGE=haproxy-router)
# shellcheck disable=SC2016  # the container's shell expands it
answer='for each; do image=$(cluster-version-operator image "${each#*=}"); echo "${each%%=*}=$image"; done'
ask() { podman run --rm --net=none --authfile="$pull_secret" --entrypoint=/bin/sh "$release" -ec "$answer" sh "$@"; }
until ask "${wanted[@]}" >"$file.new"; do sleep 5; done
mv "$file.new" "$file"
