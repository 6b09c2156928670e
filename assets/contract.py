"""Ports, paths and channel words that this program shares with the files that it renders.

Templates use it as `contract`.
"""

from enum import StrEnum

from payload import reading

API_PORT, CONFIG_PORT = 6443, reading.CONFIG_PORT
"""Ports of the cluster's API, and of the config server, from which a machine fetches its Ignition on first boot."""
KUBELET_PORT, INGRESS_PORT = 10250, 443
"""Ports of a node's kubelet, and of the routers behind the Ingress VIP."""
ETCD_PORT = 2379
"""Port of etcd's clients, on all addresses of its node; it wants a client certificate.

Source: bindata/etcd/pod.gotpl.yaml of openshift/cluster-etcd-operator, b4786ae33.
"""
BALANCER_PORT = 9445
"""Port of haproxy, to which port 6443 of the API VIP is redirected."""
ALIVE_PORT = 9444
MONITOR_PORT = 9454
"""Ports of haproxy's health pages: whether haproxy runs; and, for keepalived, whether API servers are ready."""
ROUTER_PORT = 1936
"""Port of the Ingress router's health pages."""
PROVISIONING_PORT = 6180
"""Port on the provisioning network at which machines lead network boots on to this program.

The httpd of metal3 has the same one on the control plane, where a site has it: it enables the capability `baremetal`
and creates a Provisioning object (docs/adr/0026). That pod starts only where okd-provisioning-proxy.service is off.
"""
BOOT_SCRIPT = "boot.ipxe"
"""Name of the script that DHCP hands to every iPXE."""
TFTP = "/tftpboot"
"""The folder of iPXE: undionly.kpxe for BIOS, snponly.efi for UEFI. The image `ironic` of a release has it.

Source: `scripts/rundnsmasq` of openshift/ironic-image, which copies both from there.
"""

CONF = "/etc/okd-baremetal"
RUN = "/run/okd-baremetal"
STATE = "/var/lib/okd-baremetal"
BIN = "/usr/local/bin"
UNITS = reading.UNITS
TMPFILES = "/etc/tmpfiles.d"
NETWORK_MANAGER = "/etc/NetworkManager"
CONNECTIONS = f"{NETWORK_MANAGER}/system-connections"
"""NetworkManager's folder of keyfiles; only root can read it."""

KEEPALIVED_CONF = f"{RUN}/keepalived.conf"
"""The file that keepalived reads: the rendered file with the interfaces filled in."""
TRACK_FILE = f"{STATE}/release"
"""A file with one number, which keepalived adds to the bootstrap's priority."""
UPSTREAMS = f"{RUN}/upstreams"
"""The site's DNS servers, in the format of resolv.conf."""

IMAGES = f"{STATE}/images"
"""The images of the services, one variable per line: what the machine found in the release image."""

CHANNEL = "org.okd-baremetal.vip"
"""Name of the bootstrap VM's virtio-serial port."""


class Word(StrEnum):
    """A word that the provisioner sends on the channel."""

    RELEASE = "release"
    LEAVE = "leave"
    HOLD = "hold"
    STATUS = "status"


HELD, RELEASED = "held", "released"
"""The first word of each answer: whether the bootstrap VM keeps the VIP or has released it."""
