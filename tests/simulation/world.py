"""The world of one history: all machines, the segment, libvirt, the cluster; and what the promises see of them."""

import random
from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial

from base.errors import SegmentError
from cluster.values.vrrp import API, INGRESS
from providers.mark_file import Ended
from tests.simulation.api import SimKube
from tests.simulation.clock import SimClock
from tests.simulation.cluster import BOOTSTRAP, Cluster, Node, pace
from tests.simulation.media import SimMedia
from tests.simulation.promises import Watch
from tests.simulation.segment import Check, Speaker, Vip
from tests.simulation.servers import Server, System
from tests.simulation.site import Site
from tests.simulation.vm import Libvirt
from wires.bmc.client import Power

UNREADY_S = 15.0
"""Seconds after which whoever asks has seen that a node is not ready."""
QUIET_S, CROWD_S = 20.0, 8.0
"""Seconds for which nobody, or several, may hold the API VIP while machines could: VRRP's timers and a slow check."""
CALM_S = 300.0
"""Seconds for which a fault of the world excuses the machines."""
ROUTER_S = 20
STRANGER = "0a:00:00:00:00:01"


@dataclass
class Asked:
    """What the operator has asked for in the present run."""

    consents: Mapping[str, str]
    reinstalled: frozenset[str] = frozenset()
    """The hosts whose installed system may be wiped."""
    recorded: frozenset[str] = frozenset()
    """The hosts whose installation is recorded."""
    is_destroy: bool = False
    sleeps: bool = False
    removed: frozenset[str] = frozenset()
    """The hosts that are to leave the cluster."""
    spares: frozenset[str] = frozenset()
    """The hosts of its file that are no servers."""
    saves: bool = False
    """Whether etcd is to be saved first: a control plane in production has installed servers, by the state."""


class World:
    """All machines of one site."""

    def __init__(self, seed: str, site: Site, *, story: bool = False) -> None:
        self.rng, self.site = random.Random(seed), site  # noqa: S311
        self.clock = SimClock(tick=self.tick)
        self.watch, self.story = Watch(), list[str]()
        self.run, self.writes, self.locks = 0, 0, set[str]()
        self.kill_at_write: int | None = None
        self.is_calm = False
        self.warnings = list[str]()
        """Those of the present run."""
        self.asked = Asked({})
        self.serves = False
        """Whether a run has proven that the API VIP is served, and none has ended it."""
        self.disturbed_until = 0.0
        self.began_at = 0.0
        """When the present run began."""
        self.unasked_at = 0.0
        """When the API last did not answer at its VIP."""
        self.blind_until = 0.0
        self.stranger_until = 0.0
        self.full_until = 0.0
        """Until then, nothing more can be saved."""
        self.saved_in = 0
        """Number of the run that saved etcd last."""
        self.marks: dict[str, Ended] = {}
        self.media: SimMedia | None = None
        self._keeps = story
        self.servers = {name: self._server(name) for name in site.hosts}
        self.libvirt = self._libvirt()
        nodes = {name: Node(name, site.addresses[name], name in site.masters) for name in site.hosts}
        self.cluster = Cluster(
            self.servers, self.libvirt, nodes, self.clock.now, self.tell, self.vip_holder, pace(self.rng)
        )
        self.cluster.joins = self._watch_pair
        self.api, self.ingress = Vip("API VIP"), Vip("Ingress VIP")
        self._join_segment()

    # Set up.
    def _server(self, name: str) -> Server:
        server = Server(
            self.clock,
            name=name,
            url=f"https://{name}/redfish/v1/Systems/1",
            machine=self.site.machines[name],
            run=lambda: self.run,
            about_to_write=lambda what: self.about_to_write(f"https://{name}/redfish/v1/Systems/1", what),
            told=self.tell,
            wiped=self._wiped,
            forced_off=self._forced_off,
            shut_down=self._shut_down,
            switched_on=self._switched_on,
            asked_again=lambda server, write: self.breach("again", f"{write}, of {server.name}"),
            posted=self._posted,
            read_by_bmc=self._read,
        )
        server.serves = lambda url: not server.reads_at_boot or self.is_served(url)
        return server

    def _libvirt(self) -> Libvirt:
        return Libvirt(
            self.clock,
            volumes={self.site.base_volume: b""},
            priorities=API[self.site.policy],
            boot_s=self.rng.randint(10, 60),
            api_s=self.rng.randint(20, 90),
            told=self.tell,
            about_to_write=lambda what: self.about_to_write(f"domain {self.site.vm}", what),
            new_disk=self._new_disk,
            ends=self._vm_ends,
            says=self._status,
        )

    def _join_segment(self) -> None:
        numbers, cluster = API[self.site.policy], self.cluster
        own_api = Check(lambda: cluster.bootstrap_ready, numbers.bootstrap_api_down, 4)
        released = lambda: numbers.release if self.libvirt.released else 0  # noqa: E731
        self.api.speakers[BOOTSTRAP] = Speaker(
            BOOTSTRAP, numbers.bootstrap, (own_api,), self.libvirt.is_up, added=released
        )
        for rank, node in enumerate(cluster.control_plane):
            checks = (
                Check(lambda: any(map(cluster.is_ready, cluster.control_plane)), numbers.load_balancer, 6),
                Check(partial(cluster.is_ready, node), numbers.api, 6),
                Check(partial(getattr, node, "serves_config"), numbers.config_server, 6),
            )
            is_up, priority = partial(self.is_up, node.host), numbers.control_plane - rank
            self.api.speakers[node.host] = Speaker(node.host, priority, checks, is_up, float(rank))
        for host in self.site.ingress:
            router = partial(self._has_router, host)
            alive = (Check(router, None, 2), Check(router, INGRESS.router_ready, 2))
            self.ingress.speakers[host] = Speaker(host, INGRESS.node, alive, partial(self.is_up, host))

    def _has_router(self, host: str) -> bool:
        return self.cluster.nodes[host].joined_s > ROUTER_S

    # Time, and what is told.
    def tick(self) -> None:
        for server in self.servers.values():
            server.settle()
        self.libvirt.tick()
        self.cluster.tick()
        before = self.api.holders
        for vip in (self.api, self.ingress):
            vip.tick(self.clock.now())
        if before != self.api.holders:
            self.tell(f"the API VIP is held by {' and '.join(self.api.holders) or 'nobody'}")
        if not self._answers():
            self.unasked_at = self.clock.now()
        self._watch_vip()

    def _answers(self) -> bool:
        """Whether the API answers at its VIP."""
        holder, cluster = self.vip_holder(), self.cluster
        if holder == BOOTSTRAP:
            return cluster.bootstrap_ready
        return bool(holder) and any(map(cluster.is_ready, cluster.control_plane))

    def tell(self, text: str) -> None:
        if self._keeps:
            self.story.append(f"{self.clock.now() - 1000:6.0f} s  {text}")

    def disturb(self, seconds: float = CALM_S) -> None:
        self.disturbed_until = max(self.disturbed_until, self.clock.now() + seconds)

    def breach(self, promise: str, what: str) -> None:
        self.tell(f"BREACH of {promise}: {what}")
        self.watch.breach(promise, self.run, what)

    # Writes.
    def about_to_write(self, key: str, what: str) -> None:
        self.clock.check()
        self.writes += 1
        if not self.locks & {key, f"API VIP {self.site.api_vip}" if key.startswith("domain ") else key}:
            self.breach("lock", f"{what} to {key}")
        if spare := next((it for it in self.asked.spares if self.servers[it].url == key), ""):
            self.breach("spare", f"{what}, of {spare}")
        if self.kill_at_write is not None and self.writes >= self.kill_at_write:
            self.clock.kill()

    # What the machines do to each other.
    def vip_holder(self) -> str:
        return self.api.holders[0] if len(self.api.holders) == 1 else ""

    def is_served(self, url: str) -> bool:
        return self.media is not None and self.media.is_read(url)

    def serve(self, media: SimMedia | None) -> None:
        """A media server begins, or ends: then, live systems that read from it go no further."""
        self.media = media
        if media is None:
            for server in self.servers.values():
                server.lose_media()

    def _read(self, url: str) -> None:
        if self.media:
            self.media.is_read(url)

    def _posted(self, host: str, text: str) -> None:
        if self.media:
            self.media.reports[host] = text

    def _new_disk(self) -> int:
        living = [each for each in self.cluster.control_plane if self.cluster.is_ready(each)]
        if living and not self.asked.is_destroy:
            self.breach("vm", f"it gets a new disk, and the API of {living[0].host} is ready")
        self.serves = False
        return self.cluster.new_disk(len(self.site.masters) - len(self.asked.spares))

    def _status(self, word: str) -> str:
        words = {True: "yes", False: "no"}
        holds = BOOTSTRAP in self.api.holders
        nodes = [node for node in self.cluster.control_plane if node.host not in self.asked.spares]
        unready = [node.host for node in nodes if node.unready_s > UNREADY_S]
        if word == "release" and unready:
            self.breach("release", f"{unready[0]} is not ready")
        return f"vip={words[holds]} api={words[self.cluster.bootstrap_ready]}"

    # What the promises see.
    def _may_lose(self, server: Server) -> bool:
        system = server.system
        if system is None or not system.has_joined or system.is_nobodys or server.name in self.asked.reinstalled:
            return True
        if self.cluster.objects.get(server.name) is system and self.unasked_at < self.began_at:
            return False
        # An error has said so of a system that did not come up: switched off, the server is installed again.
        marked = [ended.machine for ended in self.marks.values()]
        return server.off_by_person and server.machine not in marked and server.name not in self.asked.recorded

    def _wiped(self, server: Server) -> None:
        self.tell(f"the disk of {server.name} is wiped")
        consent = self.asked.consents.get(server.name, "")
        if not server.machine.answers_to(consent):
            self.breach("consent", f"{server.machine.serial} for {server.name}, consent {consent}")
        if not self._may_lose(server) and not self.asked.is_destroy:
            self.breach("wipe", f"{server.name} has joined")
        system = server.system
        is_asked = server.name in self.asked.reinstalled
        is_excused = system is None or system.is_nobodys or is_asked or self._was_unmarked(system)
        # A person may boot the ISO once more that a killed run has left in the drive (seed 51103).
        if system and system.has_ended and server.is_on_by_program and not is_excused:
            self.breach("one-wipe", f"{server.name}, which run {system.wiped_in} has installed")
        self._watch_quorum(server)
        self._watch_growth(server)

    def _forced_off(self, server: Server) -> None:
        if self.asked.is_destroy or server.runs() is None:
            return
        if server.name in self.asked.removed:
            self._watch_pods(server)
        elif not self._may_lose(server):
            self.breach("off", f"{server.name} has joined")
        self._watch_quorum(server)

    def _shut_down(self, server: Server) -> None:
        if server.name in self.asked.removed:
            self._watch_pods(server)
            return
        if not self.asked.sleeps:
            self.breach("sleep", f"{server.name}, and nobody has asked for it")
        others = [each for each in self.servers.values() if each.name not in self.site.masters]
        if server.name in self.site.masters and (on := [each.name for each in others if each.state is Power.ON]):
            self.breach("sleep", f"{server.name}, while {on[0]} is on")

    def _watch_pods(self, server: Server) -> None:
        """A pod that is lost with its server counts, if that was a ready node and nobody else has harmed it."""
        is_alive = server.name in self.cluster.objects and self.cluster.nodes[server.name].joined_s > 0
        if is_alive and server.name in self.cluster.pods and self.clock.now() > self.disturbed_until:
            self.breach("drain", f"{server.name} runs a pod")

    def _was_unmarked(self, system: System) -> bool:
        """Whether the mark had gone before this run, which removes it itself before it wipes."""
        return system.unmarked_in not in (None, self.run)

    def _switched_on(self, server: Server) -> None:
        is_installed = server.image and server.name in self.site.masters
        if self.asked.saves and is_installed and self.saved_in != self.run:
            self.breach("saved", f"{server.name}, and etcd was saved last in run {self.saved_in}")
        is_to_disk = server.override.target == "Hdd" and server.override.enabled != "Disabled"
        is_first = server.disk and (server.system is None or server.system.generation is None)
        if is_first and not server.image and not is_to_disk and self.clock.now() > self.disturbed_until:
            self.breach("first-boot", f"{server.name}, with boot override {server.override.target}")

    def unmark(self, url: str = "") -> None:
        """A mark was removed; without a URL, all were lost."""
        for server in self.servers.values():
            if server.system and url in ("", server.url):
                server.system.unmark(self.run)

    def lose_cache(self) -> None:
        """Another provisioner goes on, or a person empties the cache of this one."""
        self.marks.clear()
        self.unmark()

    def _watch_quorum(self, server: Server) -> None:
        for etcd in self.cluster.etcds:
            system = etcd.members.get(server.name)
            if system is None or system is not server.system or system.is_nobodys or self.asked.is_destroy:
                continue  # nobody has promised anything of a cluster that was destroyed (seed 50375)
            if self.cluster.has_quorum(etcd) and not self.cluster.has_quorum(etcd, without=server.name):
                self.breach("quorum", f"{server.name}, of {len(etcd.members)} members")

    def _watch_growth(self, server: Server) -> None:
        """A server that joins etcd counts if a member was dead before the run began, or if another one joins, too."""
        etcd, nodes, run_s = self.cluster.etcd, self.cluster.nodes, self.clock.now() - self.began_at
        if etcd is None or not etcd.is_removed or server.name not in self.site.masters or server.name in etcd.members:
            return
        if dead := [each for each in etcd.members if each in nodes and nodes[each].down_s > run_s]:
            self.breach("grow", f"{server.name} joins, and {dead[0]} is down")
        if len(etcd.members) == 1:
            if not self.cluster.wants_three:
                self.breach("grow", f"{server.name} joins one, and nobody has asked OKD for that")
            return
        systems = {each: self.servers[each].system for each in self.site.masters if each not in etcd.members}
        if also := [each for each, it in systems.items() if it and it.wiped_in == self.run and each != server.name]:
            self.breach("grow", f"{server.name} joins, and {also[0]}, too")

    def _watch_pair(self, host: str) -> None:
        etcd = self.cluster.etcd
        if etcd is None or not etcd.is_removed or len(etcd.members) > 1 or host in etcd.members:
            return
        others = [it for it in self.site.masters if it not in etcd.members and it != host]
        if missing := [it for it in others if it not in self.asked.spares and not self.cluster.has_asked(it)]:
            self.breach("pair", f"{host} becomes a node, and {missing[0]} has not asked to")

    def _vm_ends(self, how: str) -> None:
        self.tell(f"the program {how}")
        etcd, cluster = self.cluster.etcd, self.cluster
        if self.asked.is_destroy or etcd is None or self.libvirt.generation is None:
            return
        members = [each for each in etcd.members if each != BOOTSTRAP and cluster.is_alive(etcd, each)]
        if not members:
            return
        if self.api.holders == (BOOTSTRAP,):
            self.breach("vm", "it alone holds the API VIP")
        if BOOTSTRAP in etcd.members and not cluster.has_quorum(etcd, without=BOOTSTRAP):
            self.breach("vm", f"etcd needs it, with {', '.join(members)}")
        if not etcd.is_complete:
            self.breach("vm", "OKD's bootstrap is not complete")

    def _watch_vip(self) -> None:
        if not self.serves or self.clock.now() < self.disturbed_until:
            return
        if self.api.silence_s > QUIET_S:
            self.breach("holder", f"nobody for {self.api.silence_s:.0f} s")
        if self.api.crowd_s > CROWD_S:
            self.breach("holder", f"{' and '.join(self.api.holders)} for {self.api.crowd_s:.0f} s")

    # What the provisioner sees.
    def macs_at(self, address: str, *, wait_s: float = 0.3) -> frozenset[str]:
        self.clock.sleep(wait_s)
        if self.clock.now() < self.blind_until:
            raise SegmentError("no ARP here: Network is down", where="bridge", fix="set the bridge up")
        vip = {self.site.api_vip: self.api, self.site.ingress_vip: self.ingress}.get(address)
        if vip is None:
            name = self.site.names.get(address, "")
            return frozenset({self.site.macs[name]} if name and self.is_up(name) else ())
        macs = {self.site.macs[name] for name in vip.holders}
        if vip is self.api and self.clock.now() < self.stranger_until:
            macs.add(STRANGER)
        return frozenset(macs)

    def is_up(self, name: str) -> bool:
        return self.libvirt.is_up() if name == BOOTSTRAP else self.cluster.nodes[name].up_s > 0

    def behind(self, address: str) -> str:
        """Return the machine that a connection reaches; empty: none."""
        self.clock.sleep(0.05)
        vip = {self.site.api_vip: self.api, self.site.ingress_vip: self.ingress}.get(address)
        holders = vip.holders if vip else (self.site.names.get(address, ""),)
        name = self.rng.choice(holders) if holders else ""
        if not name or not self.is_up(name):
            self.clock.sleep(1)
            return ""
        return name

    def api_problem(self, address: str, **_: object) -> str | None:
        """Return why the API behind an address is not ready; through a VIP, haproxy finds any node that is."""
        name, cluster = self.behind(address), self.cluster
        if not name:
            return "timed out"
        if name == BOOTSTRAP:
            return None if cluster.bootstrap_ready else "ConnectionRefusedError"
        nodes = cluster.control_plane if address == self.site.api_vip else [cluster.nodes[name]]
        return None if any(map(cluster.is_ready, nodes)) else "status 500"

    def serves_config(self, address: str) -> bool:
        name = self.behind(address)
        if not name or self.clock.now() < self.cluster.config_down_until:
            return False
        return self.cluster.bootstrap_ready if name == BOOTSTRAP else self.cluster.nodes[name].serves_config

    def connect_problem(self, address: str, port: int, **_: object) -> str | None:
        name = self.behind(address)
        if not name:
            return "timed out"
        listens = self.cluster.bootstrap_ready
        if name != BOOTSTRAP:
            node = self.cluster.nodes[name]
            listens = {6443: node.api_runs, 22623: node.serves_config, 443: self._has_router(name)}.get(port, True)
        return None if listens else "refused"

    def handshake_problem(self, address: str, port: int = 443, **_: object) -> str | None:
        name = self.behind(address)
        if not name or name == BOOTSTRAP:
            return "timed out"
        node = self.cluster.nodes[name]
        shows = self._has_router(name) if port == 443 else node.has_serving_certificate
        return None if shows else "refused"

    def kube(self) -> SimKube:
        return SimKube(self.cluster, self.api_problem)
