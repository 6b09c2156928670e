"""Histories of several updates, some of which fail, against the rules that each single update keeps."""

from dataclasses import replace

import pytest

from base.errors import BmcRefusedError
from cluster.values.phase import Phase
from testing import server_changes
from testing.fakes.bmc import FakeBmc
from testing.fakes.engine import Stack
from testing.server_changes import BMC, MASTER, NEW, OTHER_MASTER, SPARE, STATES, WORKER, Scene, scene
from wires.bmc.client import Identity, Power

BEFORE, BOOTSTRAP, PRODUCTION = STATES


def machine(it: Scene, host: str) -> FakeBmc:
    return it.site.machines[f"SERIAL-{host}"]


def refuse_insert(request: str) -> None:
    if request == "insert":
        raise BmcRefusedError("no licence")


def test_an_undone_replacement_leaves_the_running_server_on() -> None:
    """etcd has refused it after `BmcHost` had recorded the new machine."""
    it = scene(PRODUCTION)
    before = it.plan
    server_changes.replace_member(it)
    it.site.silent = set(it.site.members)
    assert "etcd cannot be asked" in it.stack.up(it.plan)[0]
    machine(it, MASTER).request_power(Power.ON)
    it.site.settle()
    (line,) = it.stack.up(before)
    assert line.endswith(
        f"its machine was {MASTER} before, and still runs; nothing was changed. "
        "Fix: switch it off, and run `pulumi up` again; if that installs nothing, switch it on"
    )
    assert it.site.is_on(f"SERIAL-{MASTER}")
    machine(it, MASTER).request_power(Power.OFF)
    it.site.settle()
    assert it.stack.up(before) == []
    assert it.site.writes() == {}


def test_a_machine_with_the_same_serial_takes_a_new_consent() -> None:
    """Blades report the serial of their chassis. Recorded without its consent, the old one would not be asked."""
    it = scene(PRODUCTION)
    address = it.new_machine()
    it.site.machines[NEW].machine = Identity(it.site.machines[NEW].machine.uuid, machine(it, WORKER).machine.serial)
    it.readdress(WORKER, address)
    assert "the record is of a system" in it.stack.up(it.plan)[0]
    it.configure(consent={WORKER: it.site.machines[NEW].machine.uuid})
    (line,) = it.stack.up(it.plan)
    assert f"still runs with the name and the addresses of {WORKER}" in line
    assert it.site.writes() == {}


def test_a_former_machine_whose_bmc_is_another_ones_now_may_still_run(capsys: pytest.CaptureFixture[str]) -> None:
    """DHCP has given its address away: what the stranger says is no word on the former machine."""
    it = scene(PRODUCTION)
    it.site.add("STRANGER", it.host(WORKER).bmc.address)
    it.readdress(WORKER, it.new_machine())
    it.configure(consent={WORKER: NEW})
    assert it.stack.up(it.plan) == []
    said = capsys.readouterr().err
    assert f"{WORKER}: its former BMC is that of a system, UUID {it.site.machines['STRANGER'].machine.uuid}, " in said
    assert f"make sure that its former machine, a system, UUID {machine(it, WORKER).machine.uuid}, " in said


def test_a_consent_by_service_tag_is_one_to_the_machine_that_is_recorded(capsys: pytest.CaptureFixture[str]) -> None:
    """Issue 42, 11. The state of an older release has no tag."""
    it = scene(PRODUCTION)
    machine(it, MASTER).machine = replace(machine(it, MASTER).machine, tag="TAG0001")
    for consent in ("tag0001", f"SERIAL-{MASTER}"):
        it.configure(consent={MASTER: consent})
        assert it.stack.up(it.plan) == []
        assert "make sure" not in capsys.readouterr().err
    assert it.site.writes() == {}


def test_a_spare_does_not_get_the_address_of_a_server_that_becomes_one() -> None:
    it = scene(BOOTSTRAP)
    addresses = it.host(WORKER).addresses
    server_changes.spare_to_server(it)
    server_changes.server_to_spare(it)
    it.change(SPARE, addresses=addresses)
    (line,) = it.stack.preview(it.plan)
    assert f"{addresses[0]} is the address of {WORKER}, which runs until the end of this update" in line


def refuse_media(request: str) -> None:
    if request == "media":
        raise BmcRefusedError("no answer")


def readdress_bmc(it: Scene, host: str, number: int) -> None:
    """Give the BMC of a host another address, so that its machine is read again."""
    address = BMC.format(f"192.0.2.{number}")
    it.site.behind[address] = f"SERIAL-{host}"
    it.readdress(host, address)


def in_production(it: Scene, **options: object) -> Scene:
    """Bring a scene to production."""
    it.configure(phase=Phase.PRODUCTION, **options)
    assert it.stack.up(it.plan) == []
    it.site.members = {str(server.address) for server in it.plan.control_plane}
    it.site.settle()
    return it


@pytest.mark.parametrize("host", [MASTER, WORKER])
@pytest.mark.parametrize("is_uuid_new", [True, False], ids=["reported-later", "missing-later"])
def test_a_uuid_that_comes_or_goes_makes_no_other_machine(host: str, is_uuid_new: bool) -> None:
    """An update of the BMC's firmware is no replacement: no installation, and no question to etcd."""
    it = scene(BEFORE)
    whole = machine(it, host).machine
    without = Identity("", whole.serial)
    first, later = (without, whole) if is_uuid_new else (whole, without)
    readdress_bmc(it, host, 91)
    machine(it, host).machine = first
    in_production(it)
    machine(it, host).machine = later
    machine(it, host).request_power(Power.OFF)
    it.site.settle()
    for number in (92, 93):
        readdress_bmc(it, host, number)
        assert it.stack.up(it.plan) == []
    assert it.site.writes() == {}


def test_a_machine_of_a_failed_removal_is_added_under_another_name() -> None:
    """The removal failed with another host, so the record of the old name is still there."""
    it = in_production(scene(BOOTSTRAP), destroyable=True)
    removed = it.host(WORKER)
    server_changes.add_server(it)
    it.site.machines[NEW].fault = refuse_insert
    it.remove(WORKER)
    assert "no licence" in it.stack.up(it.plan)[0]
    machine(it, WORKER).request_power(Power.OFF)
    it.site.settle()
    it.remove("okd-worker-2")
    without = it.plan
    it.add(removed.changed(name="okd-node-1"))
    it.configure(consent={"okd-node-1": f"SERIAL-{WORKER}"})
    (line,) = it.stack.up(it.plan)
    assert line == (
        f"okd-node-1: its machine is installed as {WORKER}. Fix: keep the name {WORKER}; "
        "or remove okd-node-1 in one `pulumi up`, and add it in a later one"
    )
    assert it.stack.up(without) == []
    it.site.settle()
    assert it.stack.up(it.plan) == []
    assert it.site.is_on(f"SERIAL-{WORKER}")


def test_the_deletion_of_an_old_name_leaves_the_machine_on() -> None:
    """A removal failed once it had switched the server off; P11 again, in two updates."""
    it = in_production(scene(BOOTSTRAP), destroyable=True)
    removed = it.host(WORKER)
    it.remove(WORKER)
    machine(it, WORKER).fault = refuse_media
    assert "no answer" in it.stack.up(it.plan)[0]
    machine(it, WORKER).fault = lambda _: None
    it.add(removed.changed(name="okd-node-1"))
    it.configure(consent={"okd-node-1": f"SERIAL-{WORKER}"})
    assert it.stack.up(it.plan) == []
    assert it.site.is_on(f"SERIAL-{WORKER}")
    assert ("BmcHost", "servers", WORKER) not in it.stack.state


@pytest.mark.parametrize("host", [MASTER, WORKER])
@pytest.mark.parametrize("lost", ["all", "HostProvisioning"])
def test_an_import_installs_no_server_that_is_off(host: str, lost: str) -> None:
    """Without a record, a server that is off is a new one; this one may have a copy of etcd.

    A `pulumi destroy` that ended half-way leaves the servers in the state, without their HostProvisioning.
    """
    it = scene(PRODUCTION)
    machine(it, host).request_power(Power.OFF)
    it.site.settle()
    kept = {key: props for key, props in it.stack.state.items() if lost not in ("all", key[0])}
    it.stack = Stack(it.site)
    it.stack.state = kept
    it.configure(import_production=True)
    (line,) = it.stack.up(it.plan)
    assert line == (
        f"{host} (https://SERIAL-{host}): power Off, virtual CD empty: it would be installed; nothing was changed. "
        "Fix: empty the drive and switch the server on, or remove the host; then run `pulumi up` again"
    )
    machine(it, host).request_power(Power.ON)
    it.site.settle()
    assert it.stack.up(it.plan) == []
    assert it.site.writes() == {}


@pytest.mark.parametrize("stack", ["without-machines", "import"])
def test_exchanged_machines_without_a_record_propose_no_consent(stack: str) -> None:
    """Case P25 where no `Machines` is recorded: the consents of the fix switched both running servers off."""
    it = scene(PRODUCTION)
    if stack == "import":
        it.stack = Stack(it.site)
        it.configure(import_production=True)
    else:
        del it.stack.state["Machines", "cluster", "machines"]
    server_changes.exchange(it)
    (text,) = it.stack.up(it.plan)
    assert text.splitlines() == [
        f"{host} (https://SERIAL-{other}): its BMC is that of the machine that consent.{other} names; nothing "
        f"was changed. Fix: find out which machine {host} is, and correct its bmc.address, or both consents if "
        "that is right"
        for host, other in ((OTHER_MASTER, MASTER), (MASTER, OTHER_MASTER))
    ]
    assert it.site.writes() == {}


def replaced_after_the_deadline(state: str) -> Scene:
    """Return a scene in which a replaced server has joined, and is a member of etcd, only after `up` had ended."""
    it = scene(state)
    server_changes.replace(it)
    it.site.machines[NEW].answers = False
    assert "was not reached in time" in it.stack.up(it.plan)[0]
    it.site.machines[NEW].answers = True
    it.site.members.add(str(it.host(MASTER).address))
    it.site.silent, it.site.nodes = set(), {MASTER: NEW}
    it.site.settle()
    return it


@pytest.mark.parametrize("state", [BOOTSTRAP, PRODUCTION])
def test_a_replaced_server_that_joins_after_the_deadline_is_adopted(state: str) -> None:
    """The fix was to take it out of etcd, and to have it installed a second time."""
    it = replaced_after_the_deadline(state)
    assert it.stack.up(it.plan) == []
    assert it.site.writes() == {}
    assert it.site.installed()[NEW] == 1


def test_a_reinstalled_server_that_joins_after_the_deadline_is_kept() -> None:
    """The only fix was to take it out of etcd, and to reinstall it a second time."""
    it = scene(PRODUCTION)
    before = it.plan
    server_changes.reinstall(it)
    machine(it, MASTER).answers = False
    assert "was not reached in time" in it.stack.up(it.plan)[0]
    machine(it, MASTER).answers = True
    it.site.members.add(str(it.host(MASTER).address))
    it.site.settle()
    assert "reinstalled it already, remove its line from `reinstall`" in it.stack.up(it.plan)[0]
    assert it.stack.up(before) == []
    assert it.site.writes() == {}


def test_a_replaced_server_that_has_joined_and_is_off_is_not_wiped() -> None:
    it = replaced_after_the_deadline(PRODUCTION)
    it.site.machines[NEW].request_power(Power.OFF)
    it.site.silent = {str(it.host(MASTER).address)}
    it.site.settle()
    assert it.stack.up(it.plan) == []
    assert it.site.installed()[NEW] == 1, "it boots from its disk"
    assert it.site.nodes == {MASTER: NEW}


def test_a_replaced_server_that_goes_off_before_its_adoption_is_not_wiped() -> None:
    it = replaced_after_the_deadline(PRODUCTION)
    asked = list[str]()

    def off_after_the_first_reads(request: str) -> None:
        asked.append(request)
        if "media" in asked:
            it.site.machines[NEW].state = Power.OFF

    it.site.machines[NEW].fault = off_after_the_first_reads
    assert "it ran from its disk a moment ago" in it.stack.up(it.plan)[0]
    assert it.site.writes() == {}
