"""Every change of a host, in every state, with every answer of its BMC: the table of servers.md, and its rules."""

import re
from collections.abc import Callable
from functools import cache

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from testing import server_changes
from testing.checkout import ROOT
from testing.server_changes import CHANGES, STATES, Cell, Outcome, Scene, answer, cells, name_of, scene, tried
from tests.unit.providers.machines.recorded_writes import RecordingStack

DOCUMENT = ROOT / "docs" / "explanation" / "servers.md"
TABLE = re.compile(r"(?P<mark><!-- made by tests/unit/\S+ -->\n)(?P<table>(?:\|.*\n)*)\n")


def machine_of(it: Scene, host: str) -> str | None:
    """Return the serial of the machine that a host is in the stack's state."""
    recorded = it.stack.state["Machines", "cluster", "machines"]["machines"]
    return recorded[host]["serial"] if host in recorded else None


def check_rules(before: Scene, after: Scene, outcome: Outcome) -> None:
    """Check the rules that hold for every update, whatever is changed."""
    consents = {host.name: after.plan.options.consent[host.name] for host in after.plan.servers}
    hosts = {serial: [name for name, who in consents.items() if who == serial] for serial in outcome.wiped}
    owners = {machine_of(before, host.name): host.name for host in before.plan.hosts}
    for serial, names in hosts.items():
        assert len(names) == 1, f"{serial} was wiped, and the newest consents to it are those of {names}"
        (name,) = names
        assert owners.get(serial, name) == name, f"{serial} was {owners[serial]}, and was wiped as {name}"
        installed = before.stack.state.get(("HostProvisioning", "cluster", "control-plane"), {}).get("installed", {})
        if name in installed:
            address = str(after.host(name).address)
            assert address not in after.site.members - after.site.returned, f"{name} was wiped as a member of etcd"
            in_production = after.plan.options.phase == "production"
            assert not in_production or name in outcome.asked, f"{name} was wiped before etcd was asked"
            again = [host for hosts_ in hosts.values() for host in hosts_ if host in installed]
            assert not in_production or len(again) == 1, f"{again} were wiped in one update"


def outcome_of(change: Callable[[Scene], None], how: str, state: str) -> str:
    """Make a change, check the rules and that only planned writes were made, and return the words of the table."""
    it = scene(state)
    change(it)
    answer(it, how)
    it.stack = stack = RecordingStack(it)
    outcome = tried(it)
    check_rules(scene(state), it, outcome)
    assert stack.unplanned == set()
    assert outcome.words != "preview refuses" or outcome.written == ()
    return outcome.words


@cache
def documented() -> dict[Cell, str]:
    return server_changes.cells_of(TABLE.search(DOCUMENT.read_text())["table"])  # type: ignore[index]


@pytest.mark.golden
def test_the_document_has_every_cell_and_no_other(accept_golden: bool) -> None:
    if accept_golden:
        made = {(name_of(change), how, state): outcome_of(change, how, state) for change, how, state in cells()}
        text = TABLE.sub(lambda found: found["mark"] + server_changes.table(made) + "\n", DOCUMENT.read_text())
        DOCUMENT.write_text(text)
    assert documented().keys() == {(name_of(change), how, state) for change, how, state in cells()}


@pytest.mark.parametrize(("change", "how", "state"), [*cells()], ids=lambda value: getattr(value, "__name__", value))
def test_a_change_ends_as_the_table_says(change: Callable[[Scene], None], how: str, state: str) -> None:
    assert outcome_of(change, how, state) == documented()[name_of(change), how, state], "`make accept`, then review"


@st.composite
def mixed(draw: st.DrawFn) -> tuple[str, list[Callable[[Scene], None]], dict[int, int], dict[int, int], int]:
    """Return a state, some changes, and permutations of BMC addresses and of consents."""
    state = draw(st.sampled_from(STATES))
    changes = draw(st.lists(st.sampled_from(CHANGES), max_size=3, unique=True))
    orders = [draw(st.one_of(st.just([*range(5)]), st.permutations(range(5)))) for _ in range(2)]
    members = draw(st.integers(0, 7))
    addresses, consents = (dict(enumerate(order)) for order in orders)
    return state, changes, addresses, consents, members


@given(mixed())
@settings(max_examples=100, deadline=None)
def test_no_disk_is_wiped_without_its_consent_nor_a_member_of_etcd(
    case: tuple[str, list[Callable[[Scene], None]], dict[int, int], dict[int, int], int],
) -> None:
    """Random pairs of configs: before and after any mix of changes, also of addresses and consents among hosts."""
    state, changes, addresses, consents, members = case
    it, before = scene(state), scene(state)
    servers = [host.name for host in it.plan.servers]
    known = {name: (it.host(name).bmc.address, it.plan.options.consent[name]) for name in servers}
    for index, name in enumerate(servers):
        it.readdress(name, known[servers[addresses[index]]][0])
        it.configure(consent={name: known[servers[consents[index]]][1]})
    for change in changes:
        try:
            change(it)
        except ValueError:
            return  # an earlier change has removed the host
    control_plane = [str(server.address) for server in before.plan.control_plane]
    it.site.members = {address for bit, address in enumerate(control_plane) if members >> bit & 1}
    check_rules(before, it, tried(it))
