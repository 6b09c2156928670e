#!/usr/bin/env bash
# Make a unit of each quadlet, as podman's generator does since 4.4, in a folder that ranks below /etc/systemd/system.
# USAGE: lab-quadlets NORMAL EARLY LATE
set -euo pipefail
PATH=/usr/sbin:/usr/bin
wants=${1:?NORMAL}/multi-user.target.wants
mkdir -p "$wants"
for quadlet in /etc/containers/systemd/*; do
    unit=${quadlet##*/}
    case $unit in
        *.container) unit=${unit%.container}.service ;;
        *) unit=${unit%.*}-${unit##*.}.service ;;
    esac
    {
        printf '[Unit]\nAfter=network-online.target\n[Service]\nType=oneshot\nStandardOutput=journal+console\n'
        sed -n 's/^Exec=/ExecStart=/p' "$quadlet"
    } >"$1/$unit"
    ln -s "../$unit" "$wants/$unit"
done
