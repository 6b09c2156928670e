"""docs/reference/after-the-installation.md says of each field what its change does to an installed cluster."""

import json

import pytest

from base.shapes import below
from cluster.installed import FIXED, network_faults
from cluster.plan import Intent
from testing.documents import table
from testing.support import COLUMNS, KEY, intents, keys, rows

FIELD, VALIDATED, PLANNED, *_ = COLUMNS
WORDS = {
    path: row["what happens"]
    for row in table("reference/after-the-installation.md", "field")
    for path, _ in KEY.findall(row["field"])
}
SUPPORT = {row[FIELD]: row for row in rows()}
VALID = [label for label, row in SUPPORT.items() if row[PLANNED] != "no"]
TWICE = ["networking.machineNetwork[].cidr", "networking.machineCIDR"]
"""Refused or not, as the network is removed or added."""


def words_of(label: str) -> set[str]:
    """Return the words of the document for the fields of a row of support.md."""
    return {
        word for path, _ in KEY.findall(label) for row, word in WORDS.items() if below(path.replace("[]", ""), row)
    }


def fixed_values(intent: Intent) -> tuple[object, ...]:
    """Return what the checks of VipHandoff, VipHeld and ProvisionerPreflight compare with the state."""
    vips = {address for vip in (intent.api, intent.ingress) for address in vip.addresses}
    return intent.domain, vips, intent.balancer, [intent.topology[path] for path in FIXED]


def test_each_field_has_a_row_and_each_row_a_field() -> None:
    fields = {path.replace("[]", "") for path in keys()}
    named = {path.replace("[]", "") for path in WORDS}
    assert [field for field in fields if not any(below(field, path) for path in named)] == []
    assert [path for path in named if not any(below(field, path) for field in fields)] == []


@pytest.mark.parametrize("label", VALID)
def test_a_row_says_refused_where_a_value_is_fixed(label: str) -> None:
    before, after = intents(label)
    if not {path for path, _ in KEY.findall(label)} & {*TWICE}:
        changed = fixed_values(before) != fixed_values(after)
        assert not changed or words_of(label) == {"refused"}, label


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
    assert {word.split(":")[0].split(" if ")[0] for word in words_of(label)} <= fitting[row[PLANNED]], label


TOPOLOGY = {
    "networking.machineNetwork": '["192.168.111.0/24"]',
    "networking.clusterNetwork": '[{"cidr": "10.128.0.0/14", "hostPrefix": 23}]',
    "networking.serviceNetwork": '["172.30.0.0/16"]',
    "fips": "false",
    "compute.replicas": "2",
}


@pytest.mark.parametrize("path", FIXED)
def test_a_network_that_pods_or_services_have_is_refused(path: str) -> None:
    (fault,) = network_faults(TOPOLOGY, {**TOPOLOGY, path: "other"})
    assert (fault.where, fault.fix) == (path, f"write {TOPOLOGY[path]} again")


def test_a_machine_network_may_be_added_and_not_removed() -> None:
    both = {**TOPOLOGY, "networking.machineNetwork": json.dumps(["192.168.111.0/24", "10.0.0.0/24"])}
    assert [*network_faults(TOPOLOGY, both)] == []
    (fault,) = network_faults(both, TOPOLOGY)
    assert fault.what == "10.0.0.0/24 is gone, but nodes have addresses in it"


def test_replicas_and_what_an_older_state_lacks_are_not_compared() -> None:
    assert [*network_faults({"fips": "false"}, {**TOPOLOGY, "compute.replicas": "3"})] == []
