"""What the machines' files and this program agree on: ports, paths, and the words of the handoff's channel.

Templates see it as `contract`.
"""

from enum import StrEnum

API_PORT, CONFIG_PORT = 6443, 22623
"""Of the cluster's API, and of the config server that first boots fetch their Ignition from."""
BALANCER_PORT = 9445
"""haproxy's, behind the API VIP's 6443."""
ALIVE_PORT = 9444
MONITOR_PORT = 9454
"""haproxy's pages for keepalived: may this machine serve others, and what runs on it."""
ROUTER_PORT = 1936
"""Health pages of the Ingress router."""

CONF = "/etc/okd-baremetal"
RUN = "/run/okd-baremetal"
STATE = "/var/lib/okd-baremetal"
BIN = "/usr/local/bin"
UNITS = "/etc/systemd/system"
NETWORK_MANAGER = "/etc/NetworkManager"
CONNECTIONS = f"{NETWORK_MANAGER}/system-connections"
"""Where NetworkManager keeps keyfiles; for root alone."""

KEEPALIVED_CONF = f"{RUN}/keepalived.conf"
"""What keepalived reads: the rendered file, its interfaces filled in."""
TRACK_FILE = f"{STATE}/release"
"""keepalived adds its number to the bootstrap's priority."""
UPSTREAMS = f"{RUN}/upstreams"
"""The site's DNS servers, as a resolv.conf."""

CHANNEL = "org.okd-baremetal.vip"
"""Name of the bootstrap VM's virtio-serial port."""


class Word(StrEnum):
    """What the provisioner sends on the channel."""

    RELEASE = "release"
    HOLD = "hold"
    STATUS = "status"


HELD, RELEASED = "held", "released"
"""How the answer begins."""
