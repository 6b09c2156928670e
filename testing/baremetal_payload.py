"""What a payload of platform baremetal has beside that of platform none, as openshift-install 4.22 wrote it."""

from collections.abc import Mapping
from datetime import datetime
from typing import Any

from base.yaml_text import yaml_of
from cluster.install_config import InstallConfig
from cluster.install_config.platform import Host
from cluster.values.address import netloc
from testing.payloads import (
    CONFIG_MANIFEST,
    DOMAIN,
    MADE,
    MANIFEST,
    TLS,
    Files,
    cluster_config,
    issued,
    manifest,
    put,
)

QUADLETS = (
    "ironic.container",
    "ironic.volume",
    "ironic-dnsmasq.container",
    "ironic-httpd.container",
    "ironic-ramdisk-logs.container",
    "image-customization.container",
    "metal3-baremetal-operator.container",
)
UNITS = (
    "build-ironic-env.service",
    "build-metal3-env.service",
    "master-bmh-update.service",
    "provisioning-interface.service",
)
OLDER_UNITS = ("extract-machine-os.service", "wait-iptables-init.service")
"""Units of releases up to 4.21 and 4.20."""
OPENSHIFT = "/opt/openshift/openshift"
"""Folder of the manifests in bootstrap.ign that `create manifests` writes into `openshift/`."""


def infrastructure(config: InstallConfig, domain: str = DOMAIN) -> str:
    """Return the Infrastructure manifest, with the VIPs of the cluster."""
    bare = config.baremetal
    vips = yaml_of({"apiServerInternalIPs": [*bare.api_vips], "ingressIPs": [*bare.ingress_vips]})
    block = "".join(f"      {line}\n" for line in vips.splitlines())
    return f"{manifest('BareMetal', domain)}    baremetal:\n{block}"


def install_config_manifest(config: InstallConfig) -> str:
    """Return the ConfigMap with the install-config."""
    return cluster_config(config).replace("none: {}", "baremetal: {}")


def become_baremetal(
    files: Files, config: InstallConfig, manifests: Mapping[str, str] | None = None, made: datetime = MADE
) -> None:
    """Change the good payload of a cluster into that of platform baremetal.

    Args:
        files: The parsed payload.
        config: Its install-config.
        manifests: The manifests in `openshift/`, by name. None: those that are left once `MANIFESTS` are removed.
        made: When openshift-install ran.
    """
    domain = f"{config.metadata.name}.{config.base_domain}"
    vip = config.baremetal.api_vips[0]
    put(files, MANIFEST, infrastructure(config, domain))
    put(files, CONFIG_MANIFEST, install_config_manifest(config))
    put(files, f"{TLS}/machine-config-server.crt", issued("root-ca", f"api-int.{domain}", vip, made=made))
    for name in QUADLETS:
        put(files, f"/etc/containers/systemd/{name}", "[Container]\n")
    files["bootstrap"]["systemd"]["units"] += [{"name": name, "contents": "[Service]\n"} for name in UNITS]
    for name, text in (manifests or {}).items():
        put(files, f"{OPENSHIFT}/{name}", text)
    for role in files.keys() - {"bootstrap"}:
        files[role]["ignition"]["config"]["merge"] = [{"source": f"https://{netloc(vip, 22623)}/config/{role}"}]


def manifests_of_servers(config: InstallConfig) -> dict[str, str]:
    """Return the manifests by which a cluster owns servers, by name (pkg/asset/machines, baremetal/hosts.go)."""
    masters = [f"{config.metadata.name}-x7k2p-master-{i}" for i in range(config.control_plane.replicas or 0)]
    compute = sum(pool.replicas or 0 for pool in config.compute)
    found = {
        "99_baremetal-provisioning-config.yaml": _object("Provisioning", "provisioning-configuration"),
        "99_openshift-cluster-api_worker-machineset-0.yaml": _object("MachineSet", "worker-0", replicas=compute),
    }
    for index, name in enumerate(masters):
        found[f"99_openshift-cluster-api_master-machines-{index}.yaml"] = _object("Machine", name)
    for index, host in enumerate(config.baremetal.hosts or ()):
        found |= {f"99_openshift-cluster-api_{kind}-{index}.yaml": text for kind, text in _of_host(host).items()}
    return found


def _of_host(host: Host) -> dict[str, str]:
    """Return the manifests of one host: without a login, its BareMetalHost has no `bmc`, and there is no Secret."""
    login = {"username": host.bmc.username, "password": host.bmc.password.get_secret_value()}
    access = {"bmc": {"address": host.bmc.address, "credentialsName": f"{host.name}-bmc-secret"}}
    bmc = access if all(login.values()) else {}
    found = {"hosts": _object("BareMetalHost", host.name, bootMACAddress=host.boot_mac_address, online=True, **bmc)}
    if bmc:
        found["host-bmc-secrets"] = yaml_of({"kind": "Secret", "stringData": login})
    if host.network_config:
        nmstate = {"nmstate": yaml_of(host.network_config)}
        found["host-network-config-secrets"] = yaml_of({"kind": "Secret", "stringData": nmstate})
    return found


def _object(kind: str, name: str, **spec: Any) -> str:
    return yaml_of({"kind": kind, "metadata": {"name": name}, "spec": spec})
