"""Variants of the rehearsal's cluster whose rendered files differ. Each has a golden tree.

They are intents, since some of them cannot be installed yet.
"""

import json
import tempfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cache
from ipaddress import ip_interface
from pathlib import Path
from typing import Any

import yaml

from boot_media.keyfiles import keyfiles_of
from cluster.options import Options
from cluster.plan import ClusterPlan, Intent, Role, Server, load_intent
from cluster.plan.model import PlannedHost
from testing import plans
from testing.install_configs import bare
from testing.plan_files import Files

IMAGES = {name: f"registry.example.com/okd/{name}@sha256:{'0' * 64}" for name in ("keepalived", "haproxy", "coredns")}
RELEASE = plans.options()["images"]["release"]
BOTH = {name: [f"192.168.111.{last}", f"fd2e::{last}"] for last, name in enumerate(plans.HOSTS, 21)}
SIX = {name: [f"fd2e::{last}"] for last, name in enumerate(plans.HOSTS, 21)}
FENCING_PASSWORD = "hunter2-of-the-fence"
SWITCH_PASSWORD = "hunter2-of-the-switch"
BOOT_FROM_NETWORK = {
    "okd-master-0": "legacy",
    "okd-master-1": "UEFI",
    "okd-worker-0": "UEFI",
    "okd-worker-1": "legacy",
}
SPARES = ("okd-master-3", "okd-master-4")
BASE_VOLUME = {"base_volume": "base.qcow2"}


@dataclass(frozen=True)
class Variant:
    """The differences from the rehearsal: a change of the install-config, and options."""

    change: Callable[[dict[str, Any]], object] = lambda _: None
    options: Mapping[str, Any] = field(default_factory=dict)


def dual_stack(config: dict[str, Any]) -> None:
    config["networking"].update(
        machineNetwork=[{"cidr": "192.168.111.0/24"}, {"cidr": "fd2e::/64"}],
        clusterNetwork=[{"cidr": "10.128.0.0/14", "hostPrefix": 23}, {"cidr": "fd01::/48", "hostPrefix": 64}],
        serviceNetwork=["172.30.0.0/16", "fd02::/112"],
    )
    bare(config).update(apiVIPs=["192.168.111.5", "fd2e::5"], ingressVIPs=["192.168.111.4", "fd2e::4"])


def ipv6(config: dict[str, Any]) -> None:
    config["networking"].update(
        machineNetwork=[{"cidr": "fd2e::/64"}],
        clusterNetwork=[{"cidr": "fd01::/48", "hostPrefix": 64}],
        serviceNetwork=["fd02::/112"],
    )
    bare(config).update(apiVIPs=["fd2e::5"], ingressVIPs=["fd2e::4"])


def static(config: dict[str, Any]) -> None:
    """Give every machine a static address, and time servers that replace those of DHCP.

    The first host has a bond, and a password for its switch ports.
    """
    bare(config).update(
        additionalNTPServers=["ntp.lab.test", "192.168.111.1", "fd2e::1"],
        bootstrapExternalStaticIP="192.168.111.20",
        bootstrapExternalStaticGateway="192.168.111.1",
        bootstrapExternalStaticDNS="192.168.111.1",
    )
    for last, host in enumerate(bare(config)["hosts"], 21):
        host["networkConfig"] = nmstate("bond0" if host["name"] == plans.HOSTS[0] else "eno1", f"192.168.111.{last}")
    first = bare(config)["hosts"][0]["networkConfig"]["interfaces"]
    first[0] |= {"type": "bond", "link-aggregation": {"mode": "active-backup", "port": ["eno1", "eno2"]}}
    login = {"eap-methods": ["md5"], "identity": "okd", "password": SWITCH_PASSWORD}
    first += [{"name": name, "type": "ethernet", "state": "up", "802.1x": login} for name in ("eno1", "eno2")]


def nmstate(interface: str, address: str) -> dict[str, Any]:
    """Return a host's networkConfig with one static address; router and DNS server are the network's first one."""
    site = str(ip_interface(f"{address}/24").network[1])
    ipv4 = {"enabled": True, "address": [{"ip": address, "prefix-length": 24}]}
    route = {"destination": "0.0.0.0/0", "next-hop-address": site, "next-hop-interface": interface}
    return {
        "interfaces": [{"name": interface, "type": "ethernet", "state": "up", "ipv4": ipv4}],
        "routes": {"config": [route]},
        "dns-resolver": {"config": {"server": [site]}},
    }


def compact(config: dict[str, Any]) -> None:
    config["compute"][0].update(replicas=0)
    del bare(config)["hosts"][3:]


def single(config: dict[str, Any]) -> None:
    """Leave a control plane of one, with two planned spares of it."""
    compact(config)
    config["controlPlane"]["replicas"] = 1


def arbiter(config: dict[str, Any]) -> None:
    """Make the third host of the control plane an arbiter."""
    config["controlPlane"]["replicas"] = 2
    config["arbiter"] = {"name": "arbiter", "replicas": 1}
    bare(config)["hosts"][2]["role"] = "arbiter"


def fenced(config: dict[str, Any]) -> None:
    """Leave a control plane of two, whose servers fence each other."""
    config["controlPlane"]["replicas"] = 2
    del bare(config)["hosts"][2]
    config["controlPlane"]["fencing"] = {"credentials": [_fence(host) for host in bare(config)["hosts"][:2]]}


def _fence(host: dict[str, Any]) -> dict[str, Any]:
    """Return the login of a host's own BMC, as a fence agent takes it."""
    address = host["bmc"]["address"].replace("redfish-virtualmedia", "redfish", 1)
    login = {"username": "admin", "password": FENCING_PASSWORD, "certificateVerification": "Disabled"}
    return {"hostName": host["name"], "address": address, **login}


def spares(config: dict[str, Any]) -> None:
    """Make the last host a spare, and add two of the control plane."""
    config["compute"][0].update(replicas=1)
    last = bare(config)["hosts"][2]
    for number, name in enumerate(SPARES, 26):
        address = last["bmc"]["address"].replace("172.22.0.103", f"172.22.0.{number + 80}")
        own = {"name": name, "bmc": {**last["bmc"], "address": address}, "bootMACAddress": f"52:54:00:11:10:{number}"}
        bare(config)["hosts"].append({**last, **own})


def grown(plan: ClusterPlan) -> ClusterPlan:
    """Return a plan whose spares of the control plane are servers."""

    def of(host: PlannedHost) -> PlannedHost:
        if host.spare_of is not Role.CONTROL_PLANE:
            return host
        return Server(**dict(host) | {"role": host.spare_of, "spare_of": None})

    return plan.changed(hosts=tuple(map(of, plan.hosts)))


def balancer(config: dict[str, Any]) -> None:
    """Give API and Ingress one address of the site's balancer in another network, as in OKD's documentation."""
    bare(config).update(loadBalancer={"type": "UserManaged"}, apiVIPs=["10.20.0.100"], ingressVIPs=["10.20.0.100"])


def managed(config: dict[str, Any]) -> None:
    """Boot two control-plane servers and compute over a Managed provisioning network.

    In each role, one boots by BIOS and one by UEFI. The third control-plane server has a virtual CD.
    """
    bare(config).update(provisioningNetwork="Managed", provisioningNetworkCIDR="172.22.0.0/24")
    bare(config).update(provisioningNetworkGateway="172.22.0.4", provisioningBridge="provisioning")
    for host in bare(config)["hosts"]:
        if host["name"] in BOOT_FROM_NETWORK:
            host["bmc"]["address"] = host["bmc"]["address"].replace("redfish-virtualmedia", "redfish")
            host["bootMode"] = BOOT_FROM_NETWORK[host["name"]]


def managed_ipv6(config: dict[str, Any]) -> None:
    """Boot servers over a Managed provisioning network of IPv6, by UEFI."""
    managed(config)
    bare(config)["provisioningNetworkCIDR"] = "fd00:1101::/64"
    del bare(config)["provisioningNetworkGateway"]
    for host in bare(config)["hosts"]:
        host["bootMode"] = "UEFI"


def balancer_managed(config: dict[str, Any]) -> None:
    """Boot servers over a Managed provisioning network behind a balancer of the site."""
    balancer(config)
    managed(config)


def unmanaged(config: dict[str, Any]) -> None:
    """Boot compute over a provisioning network with a DHCP server of the site."""
    bare(config).update(provisioningNetwork="Unmanaged", provisioningNetworkCIDR="172.22.0.0/24")
    for host in bare(config)["hosts"][3:]:
        host["bmc"]["address"] = host["bmc"]["address"].replace("redfish-virtualmedia", "redfish")


def _three(names: Mapping[str, Any]) -> dict[str, Any]:
    return {name: names[name] for name in plans.HOSTS[:3]}


def _two(names: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in names.items() if name != plans.HOSTS[2]}


VARIANTS = {
    "rehearsal": Variant(),
    "ipv6": Variant(ipv6, {"node_addresses": SIX, "bootstrap": {**BASE_VOLUME, "address": "fd2e::20"}}),
    "dual-stack": Variant(
        dual_stack,
        {"node_addresses": BOTH, "bootstrap": {**BASE_VOLUME, "address": ["192.168.111.20", "fd2e::20"]}},
    ),
    "preempt": Variant(options={"vrrp": {"policy": "preempt"}}),
    "multicast": Variant(options={"vrrp": {"api": "multicast"}}),
    "compact": Variant(
        compact, {"node_addresses": _three(plans.options()["node_addresses"]), "consent": _three(plans.CONSENT)}
    ),
    "single": Variant(
        single,
        {
            "node_addresses": _three(plans.options()["node_addresses"]),
            "consent": {plans.HOSTS[0]: plans.CONSENT[plans.HOSTS[0]]},
        },
    ),
    "arbiter": Variant(arbiter, {"payload": {**plans.PAYLOAD, "arbiter": "e4" * 32}}),
    "fenced": Variant(
        fenced, {"node_addresses": _two(plans.options()["node_addresses"]), "consent": _two(plans.CONSENT)}
    ),
    "spares": Variant(
        spares,
        {
            "consent": {name: plans.CONSENT[name] for name in plans.HOSTS[:-1]},
            "node_addresses": {
                **plans.options()["node_addresses"],
                **{name: [f"192.168.111.{last}"] for last, name in enumerate(SPARES, 26)},
            },
        },
    ),
    "balancer": Variant(balancer),
    "baremetal": Variant(options={"platform": "baremetal"}),
    "baremetal-ipv6": Variant(
        ipv6,
        {
            "platform": "baremetal",
            "node_addresses": SIX,
            "bootstrap": {**BASE_VOLUME, "address": "fd2e::20"},
        },
    ),
    "managed": Variant(managed),
    "managed-ipv6": Variant(managed_ipv6),
    "unmanaged": Variant(unmanaged),
    "balancer-managed": Variant(balancer_managed),
    "images": Variant(options={"images": IMAGES}),
    "host": Variant(options={"runtime": "host", "images": {}}),
    "static": Variant(static, {"node_addresses": {}, "bootstrap": BASE_VOLUME, "vrrp": {"ingress": "unicast"}}),
}

WITH_VIPS = [name for name in VARIANTS if not name.startswith(("balancer", "baremetal"))]
"""The clusters whose nodes answer the VIPs by this program's keepalived."""

REVIEWED = ("arbiter", "balancer", "compact", "fenced", "ipv6", "managed", "spares")
"""The clusters with a golden review of their change to production; the engine makes that of the rehearsal."""


def as_stack(name: str, folder: Path) -> Path:
    """Write one of `VARIANTS` as a stack of its name, and return the folder of stacks."""
    (folder / name).mkdir()
    Files(folder / name).write(VARIANTS[name].change)
    options = plans.options(**VARIANTS[name].options)
    config = {f"{plans.PROJECT}:{option}": value for option, value in options.items()}
    (folder / f"Pulumi.{name}.yaml").write_text(yaml.safe_dump({"config": config}))
    return folder


def intent(name: str, **options: Any) -> Intent:
    """Return the intent of one of `VARIANTS`, with further options."""
    variant = VARIANTS[name]
    return _intent(variant.change, json.dumps(plans.options(**variant.options, **options)))


@cache
def _intent(change: Callable[[dict[str, Any]], object], options: str) -> Intent:
    with tempfile.TemporaryDirectory() as folder:
        return load_intent(Files(Path(folder)).write(change), json.loads(options), keyfiles_of=keyfiles_of)


def plan(name: str, **options: Any) -> ClusterPlan:
    """Return the plan of one of `VARIANTS`, also if a preview refuses it yet; the logins are those of the file."""
    chosen = Options.model_validate(plans.options(**VARIANTS[name].options, **options))
    return ClusterPlan(**dict(intent(name, **options)), options=chosen)
