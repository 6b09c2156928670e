"""docs/reference/support.md says of each field what the code does with it."""

from base.shapes import below
from cluster.install_config.platform import PROVISIONING_MODES
from cluster.install_config.rules.hosts import BOOT_MODES, ROLES
from cluster.install_config.rules.pools import ARCHITECTURES
from cluster.install_config.rules.vips import DEFAULT_BALANCER, USER_MANAGED
from cluster.values.bmc_url import KINDS
from testing.documents import table
from testing.support import COLUMNS, KEY, keys, rows
from testing.support_examples import BESIDE, EXAMPLES, NO_TWIN

BARE = "platform.baremetal"
HOST = f"{BARE}.hosts[]"
VALUES = {
    f"{BARE}.provisioningNetwork": PROVISIONING_MODES,
    f"{BARE}.loadBalancer.type": (DEFAULT_BALANCER, USER_MANAGED),
    f"{HOST}.role": ROLES,
    f"{HOST}.bootMode": BOOT_MODES,
    "controlPlane.architecture": ARCHITECTURES,
    "compute[].architecture": ARCHITECTURES,
}
"""The values that the rules accept, of the fields whose values matter."""


def test_the_document_says_what_the_code_does() -> None:
    """After a change of what this release can install, `make accept` rewrites the table; review that diff."""
    written = {row[COLUMNS[0]]: row for row in table("reference/support.md", COLUMNS[0])}
    derived = {row[COLUMNS[0]]: row for row in rows()}
    assert written == derived


def test_each_field_has_a_row_and_each_row_a_field() -> None:
    fields, named = list(keys()), {path for label in EXAMPLES for path, _ in KEY.findall(label)}
    assert [field for field in fields if not any(below(field, path) for path in named)] == []
    assert [path for path in named if not any(below(field, path) for field in fields)] == []


def test_a_row_of_a_network_is_compared_with_the_same_network() -> None:
    for label, base in BESIDE.items():
        differing = {path for path, value in EXAMPLES[label].items() if base.get(path) != value}
        assert differing == {path for path, _ in KEY.findall(label)}, label


def test_each_value_that_matters_has_a_row() -> None:
    shown = {found for label in EXAMPLES for found in KEY.findall(label)}
    assert {(path, value) for path, values in VALUES.items() for value in values if value} <= shown
    schemes = {label.partition("`: ")[2] for label in EXAMPLES if label.startswith(f"`{HOST}.bmc.address`: ")}
    assert schemes == {*KINDS}


def test_each_field_that_is_planned_is_installed_in_a_twin_or_cannot_be() -> None:
    installed = {row[COLUMNS[0]]: row[COLUMNS[4]] for row in rows()}
    assert [label for label, twins in installed.items() if twins == "not yet"] == []
    assert {label for label, twins in installed.items() if twins.startswith("none: ")} == {*NO_TWIN}


def test_the_table_tells_what_is_installed_from_what_is_only_rendered() -> None:
    """A few rows by hand, so that a mistake in the derivation shows."""
    derived = {row[COLUMNS[0]]: [*row.values()][1:] for row in rows()}
    stacks = "arbiter, balancer, compact, dual-stack, fenced, ipv6, managed, platform, rehearsal, single, unmanaged"
    assert derived["`metadata.name`"] == ["yes", "yes", "yes", stacks, "no"]
    assert derived["`fips`"] == ["yes", "payload", "-", "-", "no"]
    assert derived["`platform.baremetal.hosts[].hardwareProfile`"] == ["yes", "ignored", "-", "-", "no"]
    assert derived["`arbiter`"] == ["yes", "yes", "yes", "arbiter", "no"]
    assert derived["`controlPlane.fencing`"] == ["yes", "yes", "yes", "fenced", "no"]
    assert derived["`credentialsMode`"] == ["invalid", "no", "no", "no", "no"]
    assert derived["`platform.baremetal.bootstrapExternalStaticIP`"][:3] == ["yes", "yes", "yes"]
    assert derived["`platform.baremetal.provisioningDHCPRange`"][:2] == ["yes", "yes"]
    assert derived["`platform.baremetal.hosts[].bmc.address`: redfish"][:2] == ["yes", "yes"]
    assert derived["`platform.baremetal.hosts[].bmc.address`, no type"][:2] == ["yes", "yes"]
    http = "`platform.baremetal.hosts[].bmc.address`: redfish-uefihttp"
    assert derived[http] == ["yes", "yes", "-", "compact", "no"]
    assert derived["`platform.baremetal.hosts[].bmc.address`: ipmi"][:2] == ["yes", "yes"]
