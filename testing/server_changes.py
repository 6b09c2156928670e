"""Each change that an operator can make to a host, in each state of a stack, with each answer of its BMC; tried."""

import copy
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import cache
from typing import Any

from base.errors import BmcRefusedError
from cluster.plan import ClusterPlan, Role
from cluster.plan.model import PlannedHost, Server
from cluster.values.address import parse_address
from cluster.values.bmc_url import parse_bmc_url
from cluster.values.phase import Phase
from testing import plans
from testing.fakes.bmc import FakeBmc
from testing.fakes.engine import Site, Stack
from wires.bmc.client import Power

NEW, STRANGER, SPARE = "SERIAL-new", "SERIAL-stranger", "okd-spare-0"
BMC = "redfish-virtualmedia+https://{}/redfish/v1/Systems/1"
MASTER, OTHER_MASTER, WORKER, OTHER_WORKER = "okd-master-2", "okd-master-1", "okd-worker-1", "okd-worker-0"
STATES = ("not installed yet", "installed, phase bootstrap", "in production")
ANSWERS = ("its machine's", "a stranger's", "another host's", "silent")
"""What the BMC turns out to be."""


@dataclass
class Scene:
    """A stack in a state, and what an operator changes."""

    site: Site
    stack: Stack
    plan: ClusterPlan
    names: dict[str, str] = field(default_factory=dict)
    """How the table names a machine, by serial."""
    asks: str = ""
    """The address of the BMC that the column is about."""

    def host(self, name: str) -> PlannedHost:
        """Return a host of the plan."""
        (found,) = (host for host in self.plan.hosts if host.name == name)
        return found

    def change(self, host: str, **fields: Any) -> None:
        """Change fields of a host."""
        changed = self.host(host).changed(**fields)
        self.plan = self.plan.changed(hosts=tuple(changed if it.name == host else it for it in self.plan.hosts))

    def add(self, host: PlannedHost) -> None:
        """Add a host."""
        self.plan = self.plan.changed(hosts=(*self.plan.hosts, host))

    def remove(self, name: str) -> None:
        """Remove a host."""
        self.plan = self.plan.changed(hosts=tuple(host for host in self.plan.hosts if host.name != name))

    def configure(self, **options: Any) -> None:
        """Change options; a mapping is merged."""
        now = self.plan.options
        merged = {
            name: {**getattr(now, name), **value} if isinstance(value, dict) else value
            for name, value in options.items()
        }
        self.plan = self.plan.changed(options=now.changed(**merged))

    def readdress(self, name: str, address: str) -> None:
        """Give a host another address of its BMC."""
        self.change(name, bmc=self.host(name).bmc.changed(address=address, url=parse_bmc_url(address)))
        self.asks = address

    def new_machine(self) -> str:
        """Add a machine that is off, and return the address of its BMC."""
        self.site.add(NEW, BMC.format("192.0.2.90"))
        self.names[NEW] = "the new machine"
        return BMC.format("192.0.2.90")


def _serial(name: str) -> str:
    return f"SERIAL-{name}"


def scene(state: str) -> Scene:
    """Return the rehearsal's cluster, with a spare, in a state."""
    made = _scene(state)
    # A plan is frozen: copies share it.
    return copy.deepcopy(made, {id(made.plan): made.plan})


@cache
def _scene(state: str) -> Scene:
    site = Site()
    bootstrap = plans.plan(destroyable=False)
    spare = bootstrap.hosts[-1].changed(
        name=SPARE,
        bmc=bootstrap.hosts[-1].bmc.changed(
            address=BMC.format("192.0.2.80"), url=parse_bmc_url(BMC.format("192.0.2.80"))
        ),
        addresses=(),
    )
    bootstrap = bootstrap.changed(hosts=(*bootstrap.hosts, PlannedHost(**dict(spare) | {"role": None})))
    for host in bootstrap.hosts:
        site.add(_serial(host.name), host.bmc.address)
    site.machines[_serial(SPARE)].run_from_disk()
    made = Scene(site, Stack(site), bootstrap)
    if state == STATES[0]:
        _fail_to_install(made)
    else:
        assert made.stack.up(bootstrap) == []
    if state == STATES[2]:
        made.plan = bootstrap.changed(options=bootstrap.options.changed(phase=Phase.PRODUCTION))
        assert made.stack.up(made.plan) == []
        site.members = {str(server.address) for server in bootstrap.control_plane}
    site.settle()
    site.asked.clear()
    return made


def _fail_to_install(made: Scene) -> None:
    def refuse(request: str) -> None:
        if request == "insert":
            raise BmcRefusedError("no licence")

    for bmc in made.site.machines.values():
        bmc.fault = refuse
    assert made.stack.up(made.plan)
    for bmc in made.site.machines.values():
        bmc.fault = lambda _: None


def add_server(it: Scene) -> None:
    """add a compute server"""
    bmc = it.new_machine()
    it.add(it.host(WORKER).changed(name="okd-worker-2", addresses=(parse_address("192.168.111.26"),)))
    it.readdress("okd-worker-2", bmc)
    it.configure(consent={"okd-worker-2": NEW})


def rename(it: Scene) -> None:
    """rename a server"""
    it.names[_serial(WORKER)] = "it"
    it.asks = it.host(WORKER).bmc.address
    it.change(WORKER, name="okd-node-1")
    it.configure(consent={"okd-node-1": _serial(WORKER)})


def exchange(it: Scene) -> None:
    """exchange the BMC addresses of two servers"""
    one, other = it.host(MASTER).bmc.address, it.host(OTHER_MASTER).bmc.address
    it.readdress(OTHER_MASTER, one)
    it.readdress(MASTER, other)


def exchange_with_consents(it: Scene) -> None:
    """exchange them, and the consents"""
    exchange(it)
    it.configure(consent={MASTER: _serial(OTHER_MASTER), OTHER_MASTER: _serial(MASTER)})


def replace_running(it: Scene) -> None:
    """replace a server of the control plane that still runs"""
    it.names[_serial(MASTER)] = "the old machine"
    it.readdress(MASTER, it.new_machine())
    it.configure(consent={MASTER: NEW})


def replace_member(it: Scene) -> None:
    """replace one that is off, and still a member of etcd"""
    replace_running(it)
    it.site.machines[_serial(MASTER)].request_power(Power.OFF)
    it.site.settle()
    it.site.members = {str(server.address) for server in it.plan.control_plane}
    it.site.silent = {str(it.host(MASTER).address)}


def replace(it: Scene) -> None:
    """replace one that is off, and out of etcd"""
    replace_member(it)
    it.site.members.discard(str(it.host(MASTER).address))


def remove(it: Scene) -> None:
    """remove a server"""
    it.names[_serial(WORKER)] = "it"
    it.asks = it.host(WORKER).bmc.address
    it.remove(WORKER)


def remove_destroyable(it: Scene) -> None:
    """remove a server, after an `up` with `destroyable: true`"""
    it.configure(destroyable=True)
    it.stack.up(it.plan)
    it.site.settle()
    remove(it)


def new_role(it: Scene) -> None:
    """make a compute server one of the control plane"""
    it.names[_serial(WORKER)] = "it"
    it.asks = it.host(WORKER).bmc.address
    it.change(WORKER, role=Role.CONTROL_PLANE)
    it.configure(vrrp=it.plan.options.vrrp.changed(api="multicast"))


def spare_to_server(it: Scene) -> None:
    """make a spare a server"""
    it.names[_serial(SPARE)] = "it"
    it.asks = it.host(SPARE).bmc.address
    planned = it.host(SPARE).changed(addresses=(parse_address("192.168.111.27"),))
    it.remove(SPARE)
    it.add(Server(**dict(planned) | {"role": Role.COMPUTE}))
    it.configure(consent={SPARE: _serial(SPARE)})


def server_to_spare(it: Scene) -> None:
    """make a server a spare"""
    it.names[_serial(WORKER)] = "it"
    it.asks = it.host(WORKER).bmc.address
    planned = it.host(WORKER)
    it.remove(WORKER)
    it.add(PlannedHost(**dict(planned) | {"role": None}))


def readdress_bmc(it: Scene) -> None:
    """give a server's BMC another address"""
    it.names[_serial(MASTER)] = "it"
    address = BMC.format("192.0.2.91")
    it.site.behind[address] = _serial(MASTER)
    it.readdress(MASTER, address)


def readdress_node(it: Scene) -> None:
    """give a server another address"""
    it.names[_serial(MASTER)] = "it"
    it.asks = it.host(MASTER).bmc.address
    it.change(MASTER, addresses=(parse_address("192.168.111.29"),))


def reinstall_member(it: Scene) -> None:
    """reinstall a member of etcd"""
    it.names[_serial(MASTER)] = "it"
    it.asks = it.host(MASTER).bmc.address
    it.configure(reinstall={MASTER: _serial(MASTER)})
    it.site.members = {str(server.address) for server in it.plan.control_plane}


def reinstall(it: Scene) -> None:
    """reinstall a server that is out of etcd"""
    reinstall_member(it)
    it.site.members.discard(str(it.host(MASTER).address))


CHANGES: tuple[Callable[[Scene], None], ...] = (
    add_server,
    rename,
    exchange,
    exchange_with_consents,
    replace_running,
    replace_member,
    replace,
    remove,
    remove_destroyable,
    new_role,
    spare_to_server,
    server_to_spare,
    readdress_bmc,
    readdress_node,
    reinstall_member,
    reinstall,
)


@dataclass(frozen=True)
class Outcome:
    """What an update of a scene did."""

    words: str
    """As in the table."""
    wiped: tuple[str, ...]
    """Serials of the machines that were installed."""
    written: tuple[str, ...]
    """Serials of the machines to whose BMCs anything was written."""
    asked: tuple[str, ...]
    """The hosts about which the cluster was asked."""


def tried(it: Scene) -> Outcome:
    """Preview and make the change, by `up --skip-preview`, and return what came of it."""
    before = dict(it.site.installed())
    was_on = {serial for serial in it.site.machines if it.site.is_on(serial)}
    refused, errors = it.stack.preview(it.plan), it.stack.up(it.plan)
    written = it.site.writes()
    for bmc in it.site.machines.values():
        bmc.power()
    wiped = [serial for serial, count in it.site.installed().items() if count != before.get(serial, 0)]
    off = [serial for serial in sorted(was_on) if serial not in wiped and not it.site.is_on(serial)]
    installs = [_name(it, serial) for serial in sorted(wiped) if serial in it.names]
    installs += ["the others"] if any(serial not in it.names for serial in wiped) else []
    done = [f"installs {' and '.join(installs)}"] if installs else []
    done += [f"switches {_name(it, serial)} off" for serial in off]
    words = _words(refused, errors, " and ".join(done))
    return Outcome(words, tuple(sorted(wiped)), tuple(sorted(written)), tuple(it.site.asked))


def _words(refused: list[str], errors: list[str], done: str) -> str:
    who = "preview refuses" if refused else "`up` refuses" if errors else ""
    if who and done:
        return f"{who}, after it {done}" if errors and not refused else f"{who}; without one, `up` {done}"
    return who or done or "changes no server"


def _name(it: Scene, serial: str) -> str:
    return it.names.get(serial, serial.removeprefix("SERIAL-"))


def answer(it: Scene, how: str) -> None:
    """Have the BMC that a change is about turn out to be something else."""
    if how == "a stranger's":
        stranger: FakeBmc = it.site.add(STRANGER, it.asks)
        stranger.run_from_disk("a stranger's disk")
    elif how == "another host's":
        it.site.behind[it.asks] = _serial("okd-master-0")
    elif how == "silent":
        del it.site.behind[it.asks]


def cells() -> Iterator[tuple[Callable[[Scene], None], str, str]]:
    """Yield each change with each answer in each state."""
    for change in CHANGES:
        for how in ANSWERS:
            for state in STATES:
                yield change, how, state


def name_of(change: Callable[[Scene], None]) -> str:
    """Return how the table names a change."""
    return change.__doc__ or ""


Cell = tuple[str, str, str]
"""The name of a change, what the BMC is, and the state."""
ANY, OR = "any", " or "


def table(words: dict[Cell, str]) -> str:
    """Return the table; answers with the same outcomes share a row."""
    lines = [f"| change | its BMC is | {' | '.join(STATES)} |", "|---|---|---|---|---|"]
    for change in map(name_of, CHANGES):
        rows: dict[tuple[str, ...], list[str]] = {}
        for how in ANSWERS:
            rows.setdefault(tuple(words[change, how, state] for state in STATES), []).append(how)
        for outcomes, hows in rows.items():
            which = ANY if len(hows) == len(ANSWERS) else OR.join(hows)
            lines.append(f"| {change} | {which} | {' | '.join(outcomes)} |")
    return "\n".join(lines) + "\n"


def cells_of(text: str) -> dict[Cell, str]:
    """Return the cells of a table, as `table` makes it."""
    words = dict[Cell, str]()
    for line in text.splitlines()[2:]:
        change, which, *outcomes = (part.strip() for part in line.strip("|").split(" | "))
        for how in ANSWERS if which == ANY else which.split(OR):
            words |= {(change, how, state): outcome for state, outcome in zip(STATES, outcomes, strict=True)}
    return words
