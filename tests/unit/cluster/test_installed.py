"""docs/reference/after-the-installation.md says of each field what its change does to an installed cluster."""

import json
from collections import defaultdict
from functools import cache
from ipaddress import IPv4Address
from itertools import count
from typing import Any

import pytest

from base.shapes import below
from cluster.installed import FIXED, network_faults
from cluster.options import Options
from cluster.plan import ClusterPlan, Intent
from cluster.topology import topology_of
from providers.host_provisioning.records import InstallationPlan, planned_faults
from review.document import refused_page
from review.markdown import markdown
from review.preview import failures
from testing import clusters, plans
from testing.documents import table
from testing.installed import refusals
from testing.preview_steps import installation, preview, records
from testing.support import COLUMNS, KEY, intents, keys
from testing.support_examples import SEVERAL_NETWORKS

FIELD, VALIDATED, PLANNED, *_ = COLUMNS
WORDS = {
    path.replace("[]", ""): row["what happens"]
    for row in table("reference/after-the-installation.md", "field")
    for path, _ in KEY.findall(row["field"])
}
SUPPORT = {row[FIELD]: row for row in table("reference/support.md", FIELD)}
"""As the document has it, which `test_support.py` compares: to derive it took most of the time of each collection."""
VALID = [label for label, row in SUPPORT.items() if row[PLANNED] != "no"]
RESERVED = defaultdict[str, IPv4Address](map(IPv4Address("192.168.111.21").__add__, count()).__next__)
"""By MAC, an address of its own."""
REFUSED_OTHERWISE = (
    "`controlPlane.replicas`",
    "`controlPlane.replicas: 1`",
    "`platform.baremetal.hosts[].role: worker`",
    "`platform.baremetal.hosts[].role`, none",
    "`controlPlane.replicas: 2`",
)
"""Examples that are refused whatever the field: two servers of the control plane go at once, or the two that are left
would have to fence each other."""


def words_of(label: str) -> set[str]:
    """Return the words of the document for the fields of a row of support.md, without their explanation."""
    fields = [path.replace("[]", "") for path, _ in KEY.findall(label)]
    found = {word for field in fields for row, word in WORDS.items() if below(field, row)}
    return {word.split(":")[0].split(" if ")[0] for word in found}


def installed(intent: Intent) -> ClusterPlan:
    """Return the plan of a cluster in production: a machine is known by its MAC, and DHCP has an address for each."""
    consent = {host.name: host.boot_mac for host in intent.hosts}
    media = {**plans.options()["media"], "base_iso_arm64": plans.BASE_ISO}
    options = Options.model_validate(plans.options(phase="production", consent=consent, media=media))
    hosts = intent.hosts
    if {vip.version for vip in intent.api.addresses} == {4}:
        hosts = tuple(host.changed(addresses=(RESERVED[host.boot_mac],)) for host in hosts)
    return ClusterPlan(**{**dict(intent), "hosts": hosts}, options=options)


@cache
def refused(label: str) -> list[str]:
    """Return what a preview refuses of the change that is a row's example."""
    return refusals(*map(installed, intents(label)))


def test_each_field_has_a_row_and_each_row_a_field() -> None:
    fields = {path.replace("[]", "") for path in keys()}
    assert [field for field in fields if not any(below(field, path) for path in WORDS)] == []
    assert [path for path in WORDS if not any(below(field, path) for field in fields)] == []


@pytest.mark.parametrize("label", VALID)
def test_what_a_row_calls_refused_is_refused_and_nothing_else(label: str) -> None:
    before, after = intents(label)
    if before != after and label not in (*REFUSED_OTHERWISE, SEVERAL_NETWORKS):
        assert bool(refused(label)) is (words_of(label) == {"refused"}), refused(label)


@pytest.mark.parametrize("label", VALID)
def test_a_review_begins_with_each_refusal_and_says_nothing_else(label: str) -> None:
    found = refused(label)
    diagnostics = [{"severity": "error", "message": f"error: {line}\n"} for line in found]
    page = refused_page("prod", failures(preview(diagnostics=diagnostics)))
    assert [(each.text, each.is_grave) for each in page.verdict] == [
        (f"`pulumi up` would be refused: {line}", True) for line in found
    ]
    assert "No machine is changed" not in markdown(page)
    assert (page.files, page.inputs) == ((), ())


@pytest.mark.parametrize("name", ["machineNetwork", "clusterNetwork", "serviceNetwork"])
def test_each_network_of_several_stays(name: str) -> None:
    cidrs = ["192.168.111.0/24", "fd2e::/64"]
    networks: dict[str, list[Any]] = {
        "machineNetwork": [{"cidr": cidr} for cidr in cidrs],
        "clusterNetwork": [{"cidr": cidr, "hostPrefix": 64} for cidr in cidrs],
        "serviceNetwork": cidrs,
    }
    old, new = (topology_of({"networking": it}) for it in (networks, {**networks, name: networks[name][:1]}))
    assert [fault.where for fault in network_faults(old, new)] == [f"networking.{name}"]


def with_options(cluster: str, **options: object) -> ClusterPlan:
    """Return the plan of one of `clusters.VARIANTS` in production."""
    return clusters.plan(cluster, phase="production", **options)


@pytest.mark.parametrize(
    ("cluster", "options", "where"),
    [
        ("rehearsal", {"vrids": {"api": 77}}, "vrids.api"),
        ("rehearsal", {"vrids": {"ingress": 77}}, "vrids.ingress"),
        ("managed", {"vrids": {"provisioning": 77}}, "vrids.provisioning"),
        ("rehearsal", {"vrrp": {"api": "multicast"}}, "vrrp.api"),
        ("rehearsal", {"vrrp": {"ingress": "unicast"}}, "vrrp.ingress"),
        ("compact", {"vrrp": {"ingress": "unicast"}}, "vrrp.ingress"),
        ("rehearsal", {"vrrp": {"policy": "preempt"}}, ""),
        ("balancer", {"vrrp": {"api": "multicast"}, "vrids": {"api": 77}}, ""),
        ("balancer-managed", {"vrids": {"api": 77, "provisioning": 78}}, "vrids.provisioning"),
    ],
)
def test_nodes_keep_their_vrrp_except_what_only_the_bootstrap_vm_had(
    cluster: str, options: dict[str, object], where: str
) -> None:
    found = refusals(with_options(cluster), with_options(cluster, **options))
    assert [line.partition(": ")[0] for line in found] == ([where] if where else [])


@pytest.mark.parametrize("vip", ["api", "ingress"])
def test_a_vip_of_a_second_family_neither_comes_nor_goes(vip: str) -> None:
    both = with_options("dual-stack")
    claimed = getattr(both, vip)
    one = both.changed(**{vip: claimed.changed(addresses=claimed.addresses[:1], networks=claimed.networks[:1])})
    for before, after in ((both, one), (one, both)):
        (line,) = refusals(before, after)
        assert line.startswith(f"platform.baremetal.{vip}VIPs: ")


def test_a_server_may_get_an_address_and_keeps_those_that_it_has() -> None:
    both = installation(with_options("dual-stack"))
    first = both.hosts["okd-master-0"]
    one = both.changed(hosts={**both.hosts, "okd-master-0": first.changed(addresses=first.addresses[:1])})
    plan = InstallationPlan.of(both, records(with_options("dual-stack"), *both.hosts), both)
    assert [*planned_faults(plan, one, both)] == []
    (fault,) = planned_faults(plan, both, one)
    assert fault.what == "okd-master-0 was installed with fd2e::21, and is to have 192.168.111.21"


@pytest.mark.parametrize("label", SUPPORT)
def test_a_row_fits_what_the_field_is_for(label: str) -> None:
    fitting = {
        "ignored": {"nothing"},
        "payload": {"OKD", "nothing", "refused"},
        "yes": {"up", "later", "refused", "bootstrap VM", "nothing"},
        "no": {"invalid"},
    }
    row = SUPPORT[label]
    values = [value for _, value in KEY.findall(label) if value]
    if row[PLANNED] == "no" and (values or "`: " in label):
        return  # one value of a field that has others
    assert words_of(label) <= fitting[row[PLANNED]], label


TOPOLOGY = {
    "networking.machineNetwork": '["192.168.111.0/24"]',
    "networking.clusterNetwork": '[{"cidr": "10.128.0.0/14", "hostPrefix": 23}]',
    "networking.serviceNetwork": '["172.30.0.0/16"]',
    "fips": "false",
    "compute.replicas": "2",
}


@pytest.mark.parametrize("path", FIXED)
def test_a_network_that_pods_or_services_have_is_refused(path: str) -> None:
    (fault,) = network_faults(TOPOLOGY, {**TOPOLOGY, path: json.dumps("other")})
    assert (fault.where, fault.fix) == (path, f"write {TOPOLOGY[path]} again")


def test_a_machine_network_may_be_added_and_not_removed() -> None:
    both = {**TOPOLOGY, "networking.machineNetwork": json.dumps(["192.168.111.0/24", "10.0.0.0/24"])}
    assert [*network_faults(TOPOLOGY, both)] == []
    (fault,) = network_faults(both, TOPOLOGY)
    assert fault.what == "10.0.0.0/24 is gone, but nodes have addresses in it"


def test_replicas_and_what_an_older_state_lacks_are_not_compared() -> None:
    assert [*network_faults({"fips": "false"}, {**TOPOLOGY, "compute.replicas": "3"})] == []
