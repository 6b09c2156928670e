"""What the rules on machines and hosts say, word by word; test_changes.py has what an update then does."""

from collections.abc import Callable
from dataclasses import replace

import pytest

from base.errors import Fault
from cluster.values.phase import Phase
from cluster.values.role import Role
from providers import registered
from providers.machines.model import MachinesSpec
from providers.machines.provider import MachinesProvider
from providers.machines.rules import Answer, Change, answered_faults, outputs, planned_faults
from testing import server_changes
from testing.fakes.engine import identity_of, replaced_below
from testing.server_changes import MASTER, NEW, OTHER_MASTER, OTHER_WORKER, STATES, WORKER, Scene, scene

PRODUCTION = STATES[2]
M1, M2, W1 = "SERIAL-okd-master-1", "SERIAL-okd-master-2", "SERIAL-okd-worker-1"
LATER = "in one `pulumi up`, and add {} in a later one"


def changed(change: Callable[[Scene], None], state: str = PRODUCTION) -> Change:
    """Return what `Machines` gets of a change."""
    it = scene(state)
    recorded = it.stack.state["Machines", "cluster", "machines"]
    provider = MachinesProvider()
    old, outs = provider.known_spec(recorded), provider.outs_of(recorded)
    assert old
    change(it)
    return Change(old, outs, MachinesSpec.of(it.plan))


@pytest.mark.parametrize("state", STATES)
def test_other_resources_learn_the_phase(state: str, monkeypatch: pytest.MonkeyPatch) -> None:
    it = scene(state)
    recorded = it.stack.state["Machines", "cluster", "machines"]
    known = MachinesProvider().known_spec(recorded)
    assert known
    acts: list[Callable[[MachinesProvider], object]] = [
        lambda provider: provider.create(recorded),
        lambda provider: provider.update("machines", recorded, recorded),
        lambda provider: provider.diff("machines", recorded, recorded),
    ]
    with replaced_below(it.site):
        for act in acts:
            monkeypatch.setattr(registered, "PHASE", set())
            act(MachinesProvider())
            assert {known.phase} == registered.PHASE


def answers(change: Change, **machines: str) -> dict[str, Answer]:
    """Return the answers of the BMCs that are asked: those of the consented machines, but for `machines`."""
    named = {host.replace("_", "-"): serial for host, serial in machines.items()}
    return {
        host: Answer(identity_of(named.get(host) or change.new.hosts[host].consent), f"https://{host}")
        for host in change.to_ask
    }


def said(*faults: Fault) -> list[str]:
    return [str(fault) for fault in faults]


def two_removed(it: Scene) -> None:
    it.remove(MASTER)
    it.remove(OTHER_MASTER)


def one_reinstalled_one_replaced(it: Scene) -> None:
    server_changes.replace(it)
    it.configure(reinstall={OTHER_MASTER: M1})


def new_host_with_the_machine_of_another(it: Scene) -> None:
    server_changes.add_server(it)
    it.configure(consent={"okd-worker-2": W1})


def new_host_with_the_address_of_one_removed(it: Scene) -> None:
    server_changes.add_server(it)
    it.change("okd-worker-2", addresses=it.host(WORKER).addresses)
    it.remove(WORKER)


@pytest.mark.parametrize(
    ("change", "lines"),
    [
        pytest.param(server_changes.readdress_bmc, [], id="same-machine"),
        pytest.param(server_changes.replace, [], id="one-replaced"),
        pytest.param(
            server_changes.rename,
            [
                f"consent.okd-node-1: {W1} is the machine of {WORKER}, and a server gets another name only by "
                f"another installation. Fix: keep the name {WORKER}; or remove {WORKER} {LATER.format('okd-node-1')}"
            ],
            id="P11-rename",
        ),
        pytest.param(
            server_changes.exchange_with_consents,
            [
                *(
                    f"consent.{host}: {other} is the machine of {owner}; that of {host} is {uuid}. Fix: give {host} "
                    "the bmc.address of its own machine, and its consent: "
                    f"pulumi config set --path 'consent.{host}' {uuid}"
                    for host, other, owner, uuid in (
                        (OTHER_MASTER, M2, MASTER, identity_of(M1).uuid),
                        (MASTER, M1, OTHER_MASTER, identity_of(M2).uuid),
                    )
                ),
                f"hosts: {OTHER_MASTER} and {MASTER}, 2 of the 3 servers that hold copies of etcd. "
                "Fix: reinstall, replace or remove one of them in each `pulumi up`, a dead one first; "
                "to destroy the cluster, undo this first",
            ],
            id="P25-exchanged-with-consents",
        ),
        pytest.param(
            new_host_with_the_machine_of_another,
            [
                f"consent.okd-worker-2: {W1} is the machine of {WORKER}. "
                "Fix: name the machine of okd-worker-2 itself, or remove okd-worker-2"
            ],
            id="new-host-of-a-recorded-machine",
        ),
        pytest.param(
            server_changes.new_role,
            [
                f"hosts.{WORKER}: {WORKER} is compute and is to be control-plane, which takes another installation. "
                f"Fix: leave its role; or remove {WORKER} {LATER.format('it')}"
            ],
            id="new-role",
        ),
        pytest.param(
            new_host_with_the_address_of_one_removed,
            [
                f"hosts.okd-worker-2: 192.168.111.25 is the address of {WORKER}, which runs until the end of this "
                f"update. Fix: choose another address; or remove {WORKER} {LATER.format('okd-worker-2')}"
            ],
            id="address-of-a-removed-one",
        ),
        *(
            pytest.param(
                change,
                [
                    f"hosts: {OTHER_MASTER} and {MASTER}, 2 of the 3 servers that hold copies of etcd. "
                    "Fix: reinstall, replace or remove one of them in each `pulumi up`, a dead one first; "
                    "to destroy the cluster, undo this first"
                ],
                id=change.__name__,
            )
            for change in (two_removed, one_reinstalled_one_replaced)
        ),
    ],
)
def test_a_preview_says_what_inputs_and_record_show(change: Callable[[Scene], None], lines: list[str]) -> None:
    assert said(*planned_faults(changed(change))) == lines


@pytest.mark.parametrize("role", [role for role in Role if role.holds_etcd])
def test_whoever_holds_etcd_counts_when_two_leave(role: Role) -> None:
    change = changed(two_removed)
    old = change.old.changed(hosts={**change.old.hosts, MASTER: change.old.hosts[MASTER].changed(role=role)})
    (line,) = said(*planned_faults(replace(change, old=old)))
    assert f"{OTHER_MASTER} and {MASTER}, 2 of the 3 servers that hold copies of etcd" in line


def without_compute(it: Scene) -> None:
    it.remove(WORKER)
    it.remove(OTHER_WORKER)


def test_some_compute_stays_in_production() -> None:
    assert said(*planned_faults(changed(without_compute))) == [
        f"hosts: {OTHER_WORKER} and {WORKER}: no compute would be left, and no other server holds the Ingress VIP. "
        "Fix: leave one of them; to destroy the cluster, undo this first"
    ]
    assert said(*planned_faults(changed(without_compute, STATES[1]))) == []


def test_compute_is_not_exchanged_all_at_once() -> None:
    """A hardware refresh under new names: what leaves is drained and off before what comes is installed."""

    def exchanged(it: Scene) -> None:
        server_changes.add_server(it)
        without_compute(it)

    (line,) = said(*planned_faults(changed(exchanged)))
    assert line.startswith(f"hosts: {OTHER_WORKER} and {WORKER}: no compute would be left, ")
    assert line.endswith(
        "Fix: leave one of them, until what is added has joined; to destroy the cluster, undo this first"
    )
    assert said(*planned_faults(changed(exchanged, STATES[1]))) == []
    begun = changed(exchanged)
    earlier = replace(begun, old=begun.old.changed(phase=Phase.BOOTSTRAP))
    assert said(*planned_faults(earlier)) == [], "no compute was installed yet"


def test_compute_that_leaves_is_not_cut_off_by_this_run_or_a_later_one() -> None:
    change = changed(lambda it: it.remove(WORKER))
    later = outputs(change, {})
    assert change.undrained == Change(change.new, later, change.new).undrained == {WORKER}
    assert Change(change.new, later, change.old).undrained == set(), "it is back"
    assert Change(change.old, change.outs, change.new.changed(phase=Phase.BOOTSTRAP)).undrained == set()
    assert changed(lambda it: it.remove(MASTER)).undrained == set(), "it holds etcd"


def test_before_production_several_servers_may_be_replaced() -> None:
    assert said(*planned_faults(changed(one_reinstalled_one_replaced, STATES[1]))) == []


@pytest.mark.parametrize(
    ("fenced", "state", "refused"), [(True, PRODUCTION, True), (True, STATES[1], False), (False, PRODUCTION, False)]
)
def test_no_machine_takes_the_place_of_a_fenced_one(fenced: bool, state: str, refused: bool) -> None:
    """It was switched off first, and refused by `HostProvisioning` then, with the former machine no host any more."""
    change = changed(server_changes.replace, state)
    faults = [*planned_faults(replace(change, new=change.new.changed(fenced=fenced)))]
    assert [fault.where for fault in faults] == [f"consent.{MASTER}"] * refused


def test_exchanged_addresses_are_said_with_the_fix_that_ends_it() -> None:
    """Case P25: the fix named the other machine's UUID, whose consent wiped it."""
    change = changed(server_changes.exchange)
    assert said(*answered_faults(change, answers(change, okd_master_1=M2, okd_master_2=M1))) == [
        f"{host} (https://{host}): its BMC is that of {other}, and the BMC of {other} is that of {host}; nothing was "
        f"changed. Fix: exchange the bmc.address of {host} and {other}, and leave their consents"
        for host, other in ((OTHER_MASTER, MASTER), (MASTER, OTHER_MASTER))
    ]


def test_a_stranger_is_named_with_the_consent_to_it() -> None:
    change = changed(server_changes.readdress_bmc)
    (line,) = said(*answered_faults(change, answers(change, okd_master_2="SERIAL-stranger")))
    uuid = identity_of("SERIAL-stranger").uuid
    assert line == (
        f"{MASTER} (https://{MASTER}): consent names {M2}, the BMC is that of a system, UUID {uuid}, serial "
        "SERIAL-stranger; nothing was changed. Fix: if that machine's disk may be wiped, name its UUID: pulumi "
        f"config set --path 'consent.{MASTER}' {uuid}"
    )


def test_the_machine_of_another_host_is_never_proposed_as_a_consent() -> None:
    change = changed(server_changes.add_server)
    (line,) = said(*answered_faults(change, answers(change, okd_worker_2=W1)))
    assert line == (
        f"okd-worker-2 (https://okd-worker-2): its BMC is that of the machine of {WORKER}; nothing was changed. "
        "Fix: name the machine of okd-worker-2 itself, or remove okd-worker-2"
    )


@pytest.mark.parametrize("is_on", [True, False], ids=["runs", "off"])
def test_a_former_host_gets_another_name_only_while_it_is_off(is_on: bool) -> None:
    removal = changed(lambda it: it.remove(WORKER))
    outs = outputs(removal, {})
    assert [(it.host, it.serial) for it in outs.former] == [(WORKER, W1)]
    later = Change(removal.new, outs, changed(server_changes.rename).new)
    assert said(*planned_faults(later)) == []
    answer = {"okd-node-1": Answer(identity_of(W1), "https://b", is_on)}
    lines = said(*answered_faults(later, answer))
    assert lines == ([
        f"okd-node-1 (https://b): its machine was {WORKER} before, and still runs; nothing was changed. "
        "Fix: if nothing on it is needed any more, switch it off, and run `pulumi up` again"
    ] if is_on else [])  # fmt: skip
    assert outputs(later, answer).former == []


def test_a_replaced_machine_is_remembered_and_a_repeated_one_only_once() -> None:
    change = changed(server_changes.replace)
    outs = outputs(change, answers(change))
    assert outs.machines[MASTER].serial == NEW
    assert [(it.host, it.serial) for it in outs.former] == [(MASTER, M2)]


def test_only_new_and_changed_hosts_are_asked() -> None:
    assert changed(lambda _: None).to_ask == ()
    assert changed(server_changes.readdress_bmc).to_ask == (MASTER,)
    assert changed(server_changes.readdress_node).to_ask == ()
    assert changed(server_changes.add_server).to_ask == ("okd-worker-2",)
