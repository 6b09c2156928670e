"""Every field that can name an address has its row, and the rule holds for every two rows."""

import re
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from base.shapes import below
from cluster.clashes import ClusterConfig, clashes_between
from cluster.install_config import InstallConfig, read
from cluster.options import Options
from cluster.plan.address_table.conflicts import conflicts_within
from cluster.plan.address_table.rows import Row, rows_of
from cluster.plan.address_table.uses import IN_ONE_CLUSTER, IN_TWO_CLUSTERS, Pairs, Use
from cluster.values.address import Address
from testing import clusters, plans
from tests.unit.cluster.plan.address_table.complete import Cluster, cluster, patterns

NO_ADDRESS = re.findall(
    r"\S+",
    """
    apiVersion kind metadata baseDomain pullSecret sshKey additionalTrustBundle additionalTrustBundlePolicy publish
    cpuPartitioningMode credentialsMode bootstrapInPlace capabilities featureSet featureGates osImageStream pki
    operatorPublishingStrategy controlPlane compute arbiter networking.networkType proxy.noProxy
    imageDigestSources[].source imageDigestSources[].sourcePolicy imageContentSources[].source
    platform.aws platform.azure platform.external platform.gcp platform.ibmcloud platform.none platform.nutanix
    platform.openstack platform.ovirt platform.powervc platform.powervs platform.vsphere
    platform.baremetal.externalBridge platform.baremetal.provisioningNetwork platform.baremetal.provisioningBridge
    platform.baremetal.provisioningNetworkInterface platform.baremetal.loadBalancer platform.baremetal.dnsRecordsType
    platform.baremetal.bmcVerifyCA platform.baremetal.defaultMachinePlatform platform.baremetal.bgpVIPConfig
    platform.baremetal.hosts[].name platform.baremetal.hosts[].role platform.baremetal.hosts[].bootMode
    platform.baremetal.hosts[].rootDeviceHints platform.baremetal.hosts[].bmc.username
    platform.baremetal.hosts[].bmc.password platform.baremetal.hosts[].bgpPeers[]
    config:consent config:bmc_credentials config:bmc_trust config:bmc_ca config:reinstall config:payload
    config:wipe_disks config:power config:upgrade.version
    config:pull_secret config:runtime config:vrrp config:wait config:network_preflight
    config:bootstrap.pool config:bootstrap.base_volume config:bootstrap.base_sha256
    config:media.base_iso.sha256 config:media.base_iso_arm64.sha256 config:media.plain_http
    config:provisioner.pool_path config:provisioner.base_image.sha256
    """,
)
"""The texts that name no address, MAC or network. BGP and other platforms are refused by this release; `fencing`
names the BMCs that `hosts` has."""
NOT_READ = {
    "config:notify_url": "a secret, which no message repeats",
    "config:media.port": "the preflight tries it on this machine",
}


def fields(model: Any, above: str = "") -> Iterator[str]:
    """Yield the path of each text, address, mapping or port of a model, without those of old spellings."""
    schema = model.model_json_schema()

    def walk(section: dict[str, Any], above: str) -> Iterator[str]:
        for key, field in section["properties"].items():
            text = repr(field)
            brackets = "[]" if "'array'" in text else ""
            inner = schema["$defs"].get(found[1]) if (found := re.search(r"\$defs/(\w+)", text)) else None
            if field.get("deprecated") and key != "imageContentSources":
                continue
            if inner and "properties" in inner:
                yield from walk(inner, f"{above}{key}{brackets}.")
            elif "'additionalProperties': {'items'" in text:
                yield f"{above}{key}.*[]"
            elif "'string'" in text or "'object'" in text or key == "port":
                yield f"{above}{key}{brackets}"

    yield from walk(schema, above)


def test_each_field_is_in_the_table_or_names_no_address() -> None:
    """A new field fails this test until it has a row, or is listed here with the reason why it needs none."""
    every = {*fields(InstallConfig), *fields(Options, "config:")}
    rows = patterns()
    unknown = {
        path
        for path in every - rows.keys() - NOT_READ.keys()
        if not any(below(path, other) for other in NO_ADDRESS) and path != "platform.baremetal.hosts[].networkConfig"
    }
    assert unknown == set()


def test_nothing_is_listed_that_no_field_is() -> None:
    every = {*fields(InstallConfig), *fields(Options, "config:")}
    assert [path for path in (*NO_ADDRESS, *NOT_READ) if not any(below(field, path) for field in every)] == []


def test_an_address_in_a_network_config_has_a_row() -> None:
    above = "platform.baremetal.hosts[].networkConfig."
    assert {path.removeprefix(above): uses for path, uses in patterns().items() if path.startswith(above)} == {
        "interfaces[].mac-address": {Use.CARD},
        "interfaces[].ipv4.address[].ip": {Use.SERVER, Use.OTHER_CARD},
        "routes.config[].next-hop-address": {Use.GATEWAY},
        "routes.config[].destination": {Use.ROUTE},
        "dns-resolver.config.server[]": {Use.DNS},
    }


DERIVED = (Use.RESERVED, Use.UNUSABLE)
"""The addresses that follow from another field."""


def addressed(of: Cluster) -> list[Row]:
    """Return the rows of addresses, without those that follow from another field."""
    return [row for row in of.rows() if isinstance(row.value, Address) and row.use not in DERIVED]


def row_at(path: str, of: Cluster) -> Row:
    return next(row for row in of.rows() if row.path == path and isinstance(row.value, Address))


def may_coincide(one: Row, other: Row, pairs: Pairs) -> bool:
    return frozenset({one.use, other.use}) in pairs


KINDS = (
    {"managed": True, "static": True},
    {"managed": True, "static": False},
    {"managed": False, "static": True},
    {"managed": False, "static": True, "site_balancer": True},
    {"managed": False, "static": False, "site_balancer": True},
)
CLUSTERS = st.sampled_from(KINDS)


@pytest.mark.parametrize("kind", KINDS, ids=str)
def test_each_of_these_clusters_is_valid(kind: dict[str, bool]) -> None:
    assert read(plans.written(cluster(**kind).config)).faults == ()


@given(CLUSTERS, st.data())
def test_an_address_in_the_place_of_another_is_refused_by_the_matrix(
    kind: dict[str, bool], data: st.DataObject
) -> None:
    plan = cluster(**kind)
    rows = addressed(plan)
    assert list(conflicts_within(*plan.read())) == []
    first, second = data.draw(st.permutations(rows))[:2]
    assume(first.owner != second.owner)  # what one machine has twice is one row
    plan.replace(second, first.text)
    one, other = row_at(first.path, plan), row_at(second.path, plan)
    refused = [
        (fault.where, f"({path})" in fault.what)
        for fault in conflicts_within(*plan.read())
        for path in (one.path, other.path)
        if fault.where != path
    ]
    is_refused = (one.path, True) in refused or (other.path, True) in refused
    assert is_refused is not may_coincide(one, other, IN_ONE_CLUSTER)


@given(CLUSTERS, CLUSTERS, st.data())
def test_an_address_of_another_cluster_is_refused_by_the_matrix(
    kind: dict[str, bool], other_kind: dict[str, bool], data: st.DataObject
) -> None:
    first, second = cluster(1, **kind), cluster(2, **other_kind)
    one, replaced = data.draw(st.sampled_from(addressed(first))), data.draw(st.sampled_from(addressed(second)))
    assert clashes(first, second) == []
    second.replace(replaced, one.text)
    other = row_at(replaced.path, second)
    named = [
        line for line in clashes(first, second) if line.startswith(f"{other.path}: ") and f"{one.path} of a" in line
    ]
    assert bool(named) is not may_coincide(one, other, IN_TWO_CLUSTERS)


def clashes(*clusters: Cluster) -> list[str]:
    """Return the lines about the last of `a`, `b`, …."""
    read = zip("ab", (each.read() for each in clusters), strict=True)
    found = clashes_between([ClusterConfig(name, config, options=options) for name, (config, options) in read])
    return [str(fault) for fault in found[-1]]


def test_what_dhcp_reserves_over_ipv6_is_in_the_order_of_the_file() -> None:
    """Else the lines on two addresses of one reservation changed places from run to run."""
    written = plans.install_config()
    clusters.managed_ipv6(written)
    config = read(plans.written(written)).config
    reserved = [row.value for row in rows_of(config) if row.use is Use.RESERVED]
    assert len(reserved) == 8 * len(config.baremetal.hosts or ())
    assert reserved == sorted(reserved, key=str)
