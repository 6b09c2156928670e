"""What a payload of platform baremetal brings to own servers: this program removes the objects and masks the units.

Sources: openshift/installer, release branches 4.16 to main of 2026-04, `data/data/bootstrap/baremetal` and
`pkg/asset/machines`; a payload of 4.22, made and listed.
"""

from fnmatch import fnmatch

IRONIC = "Ironic, which switches servers on and installs them"
UNITS = {
    "ironic.service": f"{IRONIC}; its API on port 6385 keeps a VIP on the bootstrap",
    "ironic-volume.service": f"the volume of {IRONIC}",
    "ironic-httpd.service": "the images of Ironic, on port 6180",
    "ironic-dnsmasq.service": "a second DHCP server on the provisioning network",
    "ironic-ramdisk-logs.service": "logs of what Ironic installs",
    "image-customization.service": "the live images of Ironic",
    "metal3-baremetal-operator.service": "the owner of every server's power while the bootstrap runs",
    "build-ironic-env.service": "the settings of Ironic",
    "build-metal3-env.service": "the settings of the baremetal-operator",
    "provisioning-interface.service": "another address of the bootstrap on the provisioning network",
    "master-bmh-update.service": "at its end, it has the cluster's baremetal-operator act on every server",
    "extract-machine-os.service": "the live image of Ironic; up to 4.21",
    "wait-iptables-init.service": "the firewall of Ironic; up to 4.20",
}
"""The units that must not run, and what each one is. A unit that a release does not have does no harm."""
QUADLETS = "/etc/containers/systemd/*"
"""Files from which systemd generates units of containers; `<name>.container` makes `<name>.service`."""
_SUFFIXES = {"container": ".service", "volume": "-volume.service", "network": "-network.service"}

MANIFESTS = (
    "99_openshift-cluster-api_hosts-*.yaml",
    "99_openshift-cluster-api_host-bmc-secrets-*.yaml",
    "99_openshift-cluster-api_host-network-config-secrets-*.yaml",
    "99_openshift-cluster-api_master-machines-*.yaml",
    "99_openshift-cluster-api_worker-machines-*.yaml",
    "99_openshift-cluster-api_worker-machineset-*.yaml",
    "99_baremetal-provisioning-config.yaml",
)
"""The manifests of `create manifests` in `openshift/` that `create ignition-configs` must not find."""
KINDS = frozenset({"BareMetalHost", "Provisioning", "Machine", "MachineSet", "ControlPlaneMachineSet"})
"""The objects in them, by which metal3 would own servers; their Secrets are of no use without them."""


def unit_of(quadlet: str) -> str:
    """Return the unit that systemd generates from a quadlet."""
    name, _, kind = quadlet.rpartition("/")[2].rpartition(".")
    return f"{name}{_SUFFIXES.get(kind, '.service')}"


def is_of_servers(manifest: str) -> bool:
    """Return whether a manifest of `create manifests` has to be removed, by its name."""
    return any(fnmatch(manifest, pattern) for pattern in MANIFESTS)
