"""Valid clusters that name addresses in every field that can have one."""

import re
from dataclasses import dataclass
from typing import Any

from cluster.install_config import InstallConfig
from cluster.install_config.defaults import with_defaults
from cluster.options import Options
from cluster.plan.address_table.rows import Row, rows_of
from cluster.plan.address_table.uses import Use
from cluster.plan.addresses import CONFIG
from testing import clusters, plans
from testing.install_configs import bare, host


@dataclass
class Cluster:
    """The two inputs of a plan, as they are written."""

    config: dict[str, Any]
    options: dict[str, Any]

    def read(self) -> tuple[InstallConfig, Options]:
        return with_defaults(InstallConfig.model_validate(self.config)), Options.model_validate(self.options)

    def rows(self) -> list[Row]:
        return rows_of(*self.read())

    def replace(self, row: Row, text: str) -> None:
        """Write another address in the place of a row."""
        is_option = row.path.startswith(f"{CONFIG}: ")
        section: Any = self.options if is_option else self.config
        *above, last = re.findall(r"[^.\[\]]+", row.path.removeprefix(f"{CONFIG}: "))
        for key in above:
            section = section[int(key) if isinstance(section, list) else key]
        key = int(last) if isinstance(section, list) else last
        section[key] = section[key].replace(row.text, text)


def cluster(number: int = 1, *, managed: bool = True, site_balancer: bool = False, static: bool = True) -> Cluster:
    """Return a valid cluster; those of two numbers may have one layer-2 network.

    Args:
        number: 1 to 99.
        managed: Whether the cluster serves a provisioning network, which excludes `site_balancer`.
        site_balancer: Whether API and Ingress are addresses of the site's balancer.
        static: Whether the machines set their addresses themselves.
    """
    config = plans.install_config()
    config["metadata"]["name"] = f"c{number}"
    net, site = f"10.0.{number}", "10.1.0"
    config["networking"].update(
        machineNetwork=[{"cidr": "10.0.0.0/16"}],
        ovnKubernetesConfig={"ipv4": {"internalJoinSubnet": "100.99.0.0/16"}},
    )
    config["proxy"] = {"httpProxy": f"http://{site}.10:3128", "httpsProxy": f"http://{site}.11:3128", "noProxy": "x"}
    config["imageDigestSources"] = [{"source": "quay.io/okd", "mirrors": [f"{site}.12:5000/okd"]}]
    bare(config).update(
        libvirtURI=f"qemu+ssh://root@{site}.13/system",
        apiVIPs=[f"{net}.5"],
        ingressVIPs=[f"{net}.4"],
        additionalNTPServers=[f"{site}.14", "ntp.lab.test"],
        externalMACAddress=f"52:54:00:{number:02}:00:01",
        provisioningMACAddress=f"52:54:00:{number:02}:00:02",
    )
    if managed:
        own = f"172.22.{number}"
        bare(config).update(
            provisioningNetwork="Managed",
            provisioningNetworkCIDR=f"{own}.0/24",
            bootstrapProvisioningIP=f"{own}.2",
            clusterProvisioningIP=f"{own}.3",
            provisioningNetworkGateway=f"{own}.4",
            provisioningDHCPRange=f"{own}.10,{own}.99",
        )
    elif site_balancer:
        bare(config).update(loadBalancer={"type": "UserManaged"})
    for index in range(len(plans.HOSTS)):
        host(config, index)["bmc"]["address"] = f"redfish-virtualmedia://10.2.{number}.{index + 10}/{number}/{index}"
        host(config, index)["bootMACAddress"] = f"52:54:00:{number:02}:01:{index:02}"
        if static:
            host(config, index)["networkConfig"] = _network(
                f"{net}.{30 + index}", f"10.3.{number}.{30 + index}", number, index
            )
    if static:
        bare(config).update(
            bootstrapExternalStaticIP=f"{net}.20",
            bootstrapExternalStaticGateway="10.0.0.1",
            bootstrapExternalStaticDNS=f"{site}.15",
        )
    return Cluster(config, _options(net, site, static=static))


def _network(address: str, storage: str, number: int, index: int) -> dict[str, Any]:
    """Return a networkConfig whose second card is the one that boots."""
    network = clusters.nmstate("eno1", address)
    network["interfaces"] += clusters.nmstate("eno2", storage)["interfaces"]
    network["interfaces"][1]["mac-address"] = f"52:54:00:{number:02}:01:{index:02}"
    network["interfaces"][0]["mac-address"] = f"52:54:00:{number:02}:02:{index:02}"
    network["routes"]["config"][0]["next-hop-address"] = f"10.0.0.{2 + index}"
    network["dns-resolver"]["config"]["server"] = [f"10.1.1.{index}"]
    return network


def _options(net: str, site: str, *, static: bool) -> dict[str, Any]:
    """Return options with an address in each field of an address."""
    web = f"http://{site}.16"
    digest = f"@sha256:{'0' * 64}"
    named = {} if static else {name: [f"{net}.{30 + index}"] for index, name in enumerate(plans.HOSTS)}
    return plans.options(
        node_addresses=named,
        consent={},
        bootstrap={"base_volume": "base.qcow2", **({} if static else {"address": [f"{net}.20"]})},
        media={
            "address": f"{site}.17",
            "base_iso": {**plans.BASE_ISO, "url": f"{web}/amd64.iso"},
            "base_iso_arm64": {**plans.BASE_ISO, "url": f"{web}/arm64.iso"},
        },
        provisioner={"manage": True, "base_image": {"source": f"{web}/base.qcow2", "sha256": "0" * 64}},
        images={name: f"{site}.18:5000/{name}{digest}" for name in ("keepalived", "haproxy", "coredns")},
        snapshots=f"s3://etcd/okd?endpoint=https://{site}.19:9000",
    )


def _pattern(row: Row) -> str:
    return re.sub(r"node_addresses\.[^\[]+", "node_addresses.*", re.sub(r"\[\d+\]", "[]", row.path)).replace(
        f"{CONFIG}: ", "config:"
    )


def patterns() -> dict[str, set[Use]]:
    """Return the uses of each field that has a row in one of two clusters, which have all fields between them."""
    static, dynamic = cluster(), cluster(managed=False, static=False)
    static.config["imageContentSources"] = static.config["imageDigestSources"]
    media = dynamic.options["media"]
    media["url"] = f"http://{media.pop('address')}"
    dynamic.options["images"] = {"release": f"10.1.0.18/okd@sha256:{'0' * 64}"}
    dynamic.options["upgrade"] = {"version": "4.21.3", "image": f"10.1.0.18/okd@sha256:{'0' * 64}"}
    found: dict[str, set[Use]] = {}
    for row in (*static.rows(), *dynamic.rows()):
        found.setdefault(_pattern(row), set()).add(row.use)
    return found
