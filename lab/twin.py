"""A stack's twin: the same cluster, on machines of this lab.

Names, roles, addresses, VIPs, MACs and the BMCs' addresses stay as in the stack's two files. Logins, pull secret,
trusted CAs, images and libvirt are replaced, since they belong to the real site or give access to it. So a twin needs
and reads no secret of the real stack: encrypted options may stay encrypted.
"""

import copy
import json
import uuid
from collections.abc import Container, Mapping
from dataclasses import dataclass, field, replace
from ipaddress import ip_network
from pathlib import Path
from typing import Any

from base.yaml_text import yaml_of
from cluster.files import read_yaml
from cluster.install_config.platform import UNMANAGED
from cluster.known_options import SECRETS
from cluster.plan import Intent, load_intent
from cluster.plan.node_addresses import static_addresses
from cluster.plan.sample_values import free_addresses, with_samples
from cluster.stack_file import read_stack_file
from cluster.values.address import IPV4, IPV6, Address, Network, parse_address
from cluster.values.platform import ClusterPlatform
from lab.disks import emulated
from lab.paths import BASE_VOLUME, LIBVIRT_URI

REGISTRY = "registry.lab.test"
"""The name from which the machines pull, outside of the cluster's domain."""
USERNAME, PASSWORD = "admin", "twin-only"
BMC_NETWORKS: dict[int, Network] = {
    IPV4: ip_network("172.22.1.0/24"),
    IPV6: ip_network("fd00:172:22:1::/64"),
}
"""By family: the network of the BMCs that the install-config names by host name."""
_MEDIA_NETWORKS: dict[int, Network] = {IPV4: ip_network("172.22.0.0/24"), IPV6: ip_network("fd00:172:22::/64")}
"""By family of the BMCs: where the provisioner serves them the boot ISOs, if the stack names no address and no server
boots over a network of the site's."""
OF_BAREMETAL = (
    "platform: the payload's owners of servers only ask each BMC; systemd runs the nodes' keepalived, with the "
    "operator's settings, and this program's haproxy and CoreDNS in place of the operator's; metal3 and OKD's other "
    "operators act from outside of the cluster"
)
"""What no twin of platform baremetal has: Ironic, the machine-config operator, and kubelet's static pods."""
_PULL_SECRET = json.dumps({"auths": {REGISTRY: {"auth": "cmVoZWFyc2FsOm9ubHk="}}})
_NO_RELEASE = f"{REGISTRY}/okd/release@sha256:{'0' * 64}"
# Only for a real site: each would keep the program from the lab's machines, or weaken what the twin proves.
_DROPPED = (
    *SECRETS,
    "phase",
    "bmc_trust",
    "bmc_ca",
    "provisioner",
    "reinstall",
    "import_production",
    "snapshots",
    "power",
)
# An emulated machine does each step in seconds; a deadline that is too long would only hide that it hangs. Three
# servers at once took 264 s beside a test suite, on two cores, and up to 600 s with a real Kubernetes (2026-11).
DEADLINES = {"bmc_s": 60, "bootstrap_s": 300, "host_s": 900, "ingress_s": 300}
_LAB_OPTIONS: dict[str, dict[str, Any]] = {
    "bootstrap": {
        "base_volume": BASE_VOLUME,
        "disk_gib": 2,  # the virtual size of that volume
        "memory_mib": 320,
        "vcpus": 2,
        "emulated": True,
    },
    "handoff": {"soak_s": 4, "deadline_s": 120, "shutdown_s": 60},
    "deadlines": DEADLINES,
}


@dataclass(frozen=True)
class Twin:
    """The two files of a twin."""

    stack: str
    install_config: Mapping[str, Any] = field(repr=False)
    options: Mapping[str, Any] = field(repr=False)
    differences: tuple[str, ...]
    """A sentence for each thing that the twin cannot stand in for, or whose value is a sample."""
    named_addresses: frozenset[Address]
    """Each address that the stack's own files name, so that no machine of the lab gets it."""

    def write(self, stacks: Path) -> None:
        """Write the files in place of the stack's own, below `stacks`."""
        config = {f"okd-baremetal:{name}": value for name, value in self.options.items()}
        (stacks / self.stack).mkdir(parents=True, exist_ok=True)
        (stacks / self.stack / "install-config.yaml").write_text(yaml_of(self.install_config))
        (stacks / f"Pulumi.{self.stack}.yaml").write_text(yaml_of({"config": config}))

    def with_bmc_ca(self, pem: str) -> "Twin":
        """Return the twin with the CA of its BMCs where its stack has theirs: in `bmcVerifyCA`, else in `bmc_ca`."""
        if "bmcVerifyCA" not in self.install_config["platform"]["baremetal"]:
            return replace(self, options={**self.options, "bmc_ca": pem})
        config = copy.deepcopy(dict(self.install_config))
        config["platform"]["baremetal"]["bmcVerifyCA"] = pem
        return replace(self, install_config=config)

    def with_compute(self, count: int) -> "Twin":
        """Return the twin with `count` servers of compute; the rest of them are spares."""
        pool, *_ = self.install_config.get("compute") or [{"name": "worker"}]
        config = {**self.install_config, "compute": [{**pool, "replicas": count}]}
        what = f"compute.replicas: the twin has {count}, this machine has memory for no more"
        return replace(self, install_config=config, differences=(*self.differences, what))


def make_twin(stack: str, stacks: Path) -> Twin:
    """Return the twin of a stack.

    Args:
        stack: Its name.
        stacks: The folder with `STACK/install-config.yaml` and `Pulumi.STACK.yaml`.

    Raises:
        ConfigError: One of the files is missing or wrong.
    """
    path = stacks / stack / "install-config.yaml"
    options = read_stack_file(stacks / f"Pulumi.{stack}.yaml")
    intent, samples = with_samples(load_intent(path, options))
    own = {address for host in intent.hosts for address in static_addresses(intent, host)}
    config: dict[str, Any] = read_yaml(path)
    adapted = _options(intent, options, own)
    made_up = {option.where: value for option, value in samples.items() if option.version}
    consents = options.get("consent", {})
    made_up |= {f"consent.{name}": value for name, value in adapted["consent"].items() if not consents.get(name)}
    differences = [f"{name} is missing: the twin has {value}" for name, value in made_up.items()]
    if options.get("platform") == ClusterPlatform.BAREMETAL:
        differences.append(OF_BAREMETAL)
    if "url" in options.get("media", {}):
        differences.append("media.url: the twin's provisioner serves the boot ISOs")
    return Twin(stack, config, adapted, (*differences, *_adapt(config)), intent.named_addresses)


def uuid_of(name: str, domain: str, consent: object) -> str:
    """Return a host's system UUID: that of its consent, else one that follows from its name."""
    try:
        return str(uuid.UUID(str(consent)))
    except ValueError:
        return str(uuid.uuid5(uuid.NAMESPACE_DNS, f"{name}.{domain}"))


def family_of_named_bmcs(intent: Intent) -> int:
    """Return the family of the BMCs that the file names by host name: IPv4, unless no machine has such an address."""
    return IPV4 if any(network.version == IPV4 for network in intent.machine_networks) else IPV6


def _family_of_bmcs(intent: Intent) -> int:
    """Return the family of the BMCs: IPv4, unless none of them has such an address."""
    known = (parse_address(host.bmc.url.host) for host in intent.hosts)
    families = {address.version if address else family_of_named_bmcs(intent) for address in known}
    return IPV6 if families == {IPV6} else IPV4


def _network_of_media(intent: Intent) -> Network:
    """Return the network of the provisioner's address if the stack names none: where its clients reach it."""
    own = intent.provisioning
    if own.mode == UNMANAGED and own.cidr and intent.booted_from_network:
        return own.cidr
    return _MEDIA_NETWORKS[_family_of_bmcs(intent)]


def _options(intent: Intent, real: Mapping[str, Any], own: Container[Address]) -> dict[str, Any]:
    """Return the options of the twin; `own` are the addresses that the hosts' `networkConfig` sets."""
    options = {name: copy.deepcopy(value) for name, value in real.items() if name not in _DROPPED}
    if intent.platform is not ClusterPlatform.BAREMETAL:
        options.pop("wait", None)  # the twin has no operators of OKD
    for name, values in _LAB_OPTIONS.items():
        options[name] = {**options.get(name, {}), **values}
    options["bootstrap"].pop("base_sha256", None)
    options["bootstrap"].pop("pool", None)
    options["bootstrap"]["address"] = [str(address) for address in intent.bootstrap.addresses]
    options["node_addresses"] = {
        host.name: reserved
        for host in intent.hosts
        if (reserved := [str(address) for address in host.addresses if address not in own])
    }
    options["consent"] = {
        server.name: uuid_of(server.name, intent.domain, real.get("consent", {}).get(server.name))
        for server in intent.servers
    }
    made_up = next(free_addresses(intent, _network_of_media(intent)))
    options["media"] = {"address": str(intent.media.address or made_up), "port": intent.media.port}
    if intent.media.plain_http:
        options["media"]["plain_http"] = intent.media.plain_http
    return {**options, "images": {"release": _NO_RELEASE}, "destroyable": True}


def _adapt(config: dict[str, Any]) -> list[str]:
    """Change an install-config into its twin's, in place; return the differences."""
    bare: dict[str, Any] = config["platform"]["baremetal"]
    differences = []
    if config.pop("proxy", None):
        differences.append("proxy: ignored, the twin's machines reach all that they need")
    for pool in (config.get("controlPlane", {}), config.get("arbiter", {}), *config.get("compute", ())):
        if pool.pop("architecture", "amd64") != "amd64":
            differences.append(f"{pool.get('name')}.architecture: the twin's machines are amd64")
    config["pullSecret"] = _PULL_SECRET
    config.pop("additionalTrustBundle", None)
    bare["libvirtURI"] = LIBVIRT_URI
    if "bmcVerifyCA" in bare:
        bare["bmcVerifyCA"] = ""  # of the lab's BMCs, once they have one
    for host in bare["hosts"]:
        differences += _adapt_host(host)
    for login in config.get("controlPlane", {}).get("fencing", {}).get("credentials", ()):
        login |= {"username": USERNAME, "password": PASSWORD, "certificateVerification": "Disabled"}
        differences.append(f"{login.get('hostName', 'a server')}: its peer fences it only while it is destroyed")
    return differences


def _adapt_host(host: dict[str, Any]) -> list[str]:
    kept = {key: host["bmc"][key] for key in ("address", "disableCertificateVerification") if key in host["bmc"]}
    host["bmc"] = {**kept, "username": USERNAME, "password": PASSWORD}
    hints, replaced = emulated(host.pop("rootDeviceHints", None) or {})
    if hints:
        host["rootDeviceHints"] = hints
    return [f"{host['name']}: rootDeviceHints.{difference}" for difference in replaced]
