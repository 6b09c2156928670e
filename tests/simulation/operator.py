"""An operator who does what the messages say, word by word, and nothing else."""

import re
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, field, replace

from tests.simulation.servers import System
from tests.simulation.site import Wanted
from tests.simulation.stack import Report
from tests.simulation.world import World
from wires.bmc.client import Power

WAIT_S = 300.0
HOST = r"okd-(?:master|worker)-\d"


@dataclass
class Operator:
    """Follows errors."""

    world: World
    built_mib: int = Wanted.memory_mib
    """Memory of the bootstrap VM as the state has it: what a change of it is reverted to."""
    goes_back: bool = False
    """Whether an error has sent him back to phase bootstrap, for a VM that is off."""
    gives_up: bool = False
    """Whether an error has named the way to destroy a cluster whose etcd does not answer."""
    left_off: dict[str, System] = field(default_factory=dict)
    """The systems that an error had him switch off, with their hosts."""

    def follow(self, report: Report, wanted: Wanted, recorded: Collection[str]) -> Wanted:
        """Do what each error says; return what he wants of the next run."""
        errors = [line for error in report.errors.values() for line in str(error).splitlines()]
        for line in (*errors, *self.world.warnings):
            wanted = self._follow(line, wanted)
        for host in sorted(recorded):
            server = self.world.servers[host]
            if host in dict(wanted.reinstall) and self.left_off.get(host) is server.system:
                continue  # an error has said so of one that is to be wiped, and it has not been yet
            if server.state is Power.OFF and server.system and server.disk:
                server.press()  # a refresh says: installed, but off
        return wanted

    def _follow(self, line: str, wanted: Wanted) -> Wanted:
        does: dict[str, Callable[[re.Match[str]], Wanted]] = {
            r"remove from `reinstall` the hosts that are reinstalled already: ([\w, -]+)": lambda it: (
                self._no_reinstall(wanted, it[1].split(", "))
            ),
            rf"consent\.({HOST})'? ([\w-]+)": lambda it: self._consent(wanted, it[1], it[2]),
            rf"reinstall\.({HOST}) names": lambda it: self._no_reinstall(wanted, [it[1]]),
            rf"not wiped: ({HOST}) is a member of etcd \(": lambda it: self._take_out(wanted, it[1]),
            r"is a member of etcd \(.*: reinstall or replace one of them in each": lambda it: self._no_reinstall(
                wanted, re.findall(HOST, it[0])
            ),  # all but the first, of which the line before tells
            rf"node ({HOST}) has joined already; delete that node": lambda it: self._delete_node(wanted, it[1]),
            rf"`oc delete node ({HOST})`": lambda it: self._delete_node_of_one_gone(wanted, it[1]),
            r"revert the change": lambda _: replace(wanted, memory_mib=self.built_mib),
            r"if the bootstrap VM is off, set phase bootstrap": lambda _: self._go_back(wanted),
            rf"({HOST}): one joins etcd, and another one joins it": lambda it: self._leave_out(wanted, it[1]),
            r"set controlPlane\.replicas back to 1": lambda _: replace(wanted, masters=1),
            rf"({HOST}): not listed as a VRRP peer \(unicast\) by ({HOST}).* were installed again": lambda it: (
                self._list_spares(self._leave_out(wanted, it[1]), it[2])
            ),
            r"run `oc adm transition topology HighlyAvailable` first": lambda _: self._ask_for_three(wanted),
            rf"({HOST}): not wiped: etcd .*; or remove its line from `reinstall`": lambda it: self._no_reinstall(
                wanted, [it[1]]
            ),
            rf"only member, that of ({HOST}), is wiped": lambda it: self._no_reinstall(wanted, [it[1]]),
            r"have the API answer first": lambda _: self._wait(wanted),
            r"already answered by .*free the address": lambda _: self._free_the_vip(wanted),
            rf"({HOST})\b.*switch (?:it|the server) off": lambda it: self._switch_off(wanted, it[1]),
            rf"({HOST}) and ({HOST}) hold copies of etcd": lambda it: self._no_reinstall(wanted, it.groups()),
            rf"({HOST}) and ({HOST}), 2 of the 3 servers": lambda it: self._dead_one_first(wanted, it.groups()),
            r"to destroy the cluster, undo this first": lambda _: self._give_up(wanted),
            r"restore or destroy the cluster": lambda _: self._give_up(wanted),
            rf"({HOST}): .*: its API is not ready": lambda it: self._forget_disk(wanted, it[1]),
        }
        for pattern, do in does.items():
            if found := re.search(pattern, line):
                self.world.tell(f"OPERATOR: does as told: {found[0][:100]}")
                wanted = do(found)
        return wanted

    def _no_reinstall(self, wanted: Wanted, hosts: Collection[str]) -> Wanted:
        return replace(
            wanted, reinstall=tuple(it for it in wanted.reinstall if it[0] not in {h.strip() for h in hosts})
        )

    def _consent(self, wanted: Wanted, host: str, who: str) -> Wanted:
        return replace(wanted, consents=tuple(sorted({**dict(wanted.consents), host: who}.items())))

    def _list_spares(self, wanted: Wanted, host: str) -> Wanted:
        """Have a server installed again whose files do not list the one that was to join; only a new line does it."""
        machine, again = self.world.servers[host].machine, dict(wanted.reinstall)
        again[host] = machine.uuid if again.get(host) == machine.serial else machine.serial
        return replace(wanted, reinstall=tuple(sorted(again.items())))

    def _leave_out(self, wanted: Wanted, host: str) -> Wanted:
        """Lower the replicas so far that a server is a spare."""
        return replace(wanted, masters=min(wanted.masters, self.world.site.masters.index(host)))

    def _dead_one_first(self, wanted: Wanted, hosts: Sequence[str]) -> Wanted:
        """Leave one of several servers for the next run: one that runs, if any does."""
        host = ([it for it in hosts if self.world.servers[it].runs()] or hosts)[-1]
        consents = tuple(it for it in wanted.consents if it[0] != host)
        return replace(self._no_reinstall(wanted, [host]), consents=consents)

    def _give_up(self, wanted: Wanted) -> Wanted:
        self.gives_up = True
        return wanted

    def _ask_for_three(self, wanted: Wanted) -> Wanted:
        self.world.cluster.wants_three = True
        return wanted

    def _take_out(self, wanted: Wanted, host: str) -> Wanted:
        return wanted if self.world.cluster.take_out(host) else self._no_reinstall(wanted, [host])

    def _forget_disk(self, wanted: Wanted, host: str) -> Wanted:
        """As docs/how-to/replace-a-control-plane-server.md has it, of a server that a person has replaced."""
        self.world.cluster.forget_disk(host)
        return wanted

    def _delete_node(self, wanted: Wanted, host: str) -> Wanted:
        self.world.cluster.objects.pop(host, None)
        return wanted

    def _delete_node_of_one_gone(self, wanted: Wanted, host: str) -> Wanted:
        is_gone = self.world.servers[host].machine.serial != f"SERIAL-{host}"
        return self._delete_node(wanted, host) if is_gone else wanted

    def _go_back(self, wanted: Wanted) -> Wanted:
        self.goes_back = True
        return wanted

    def _wait(self, wanted: Wanted) -> Wanted:
        """A server that was just switched on needs its time."""
        self.world.clock.pass_time(WAIT_S)
        return wanted

    def _free_the_vip(self, wanted: Wanted) -> Wanted:
        """Switch off what a cluster that was destroyed has left; anything else that has the address stays."""
        for server in self.world.servers.values():
            system = server.runs()
            if server.name in self.world.api.holders and system and system.is_nobodys:
                server.press()
        return wanted

    def _switch_off(self, wanted: Wanted, host: str) -> Wanted:
        server = self.world.servers[host]
        if server.state is Power.ON:
            server.press()
            if server.system:
                self.left_off[host] = server.system
        return wanted
