"""The oracle of the priority policy: it checks the text that keepalived reads, not the plan behind it."""

import re
from collections.abc import Iterator, Mapping, Sequence, Set
from dataclasses import dataclass
from itertools import chain, combinations

from assets.file import Files
from assets.render import Rendered
from cluster.option_types import Transport
from cluster.plan import Intent, Role, Server
from cluster.values.address import Address
from cluster.values.vrrp import Policy

LOWEST, HIGHEST = 1, 254  # keepalived clamps a priority after the weights are added
SERVES = "load_balancer"  # the check that succeeds if this node can serve the API


@dataclass(frozen=True)
class Instance:
    """One instance of a machine's keepalived.conf."""

    priority: int
    scripts: dict[str, int]
    """Weight by tracked check."""
    peers: frozenset[str] = frozenset()
    """Empty for multicast."""
    delay_s: int = 0
    """Time for which it waits before it takes the VIP from a holder that it outranks."""

    def effective(self, failing: Set[str] = frozenset(), extra: int = 0) -> int:
        """Return the advertised priority: a check adds a positive weight on success, a negative one on failure."""
        votes = sum(weight for name, weight in self.scripts.items() if (weight < 0) == (name in failing))
        return min(max(self.priority + votes + extra, LOWEST), HIGHEST)

    def ever(self, extra: int = 0) -> set[int]:
        """Return every priority that may be advertised, whichever checks fail."""
        names = list(self.scripts)
        failures = chain.from_iterable(combinations(names, count) for count in range(len(names) + 1))
        return {self.effective(set(failing), added) for failing in failures for added in {0, extra}}


Claims = Sequence[tuple[Server, Mapping[str, Instance]]]
"""The servers, with their instances by name."""


def parse(text: str) -> dict[str, Instance]:
    """Read a keepalived.conf.

    Returns:
        The instances by name.

    Raises:
        ValueError: A part that every rendered file has is missing.
    """
    return {
        name: _instance(text, f"vrrp_instance {name}") for name in re.findall(r"^vrrp_instance (\S+) {$", text, re.M)
    }


def contradictions(intent: Intent, rendered: Rendered) -> list[str]:
    """Return the contradictions of rendered files to the API VIP's policy and to each VIP's transport, by family."""
    released = int(_value(_text(rendered.bootstrap, "okd-vip-channel.sh"), "echo(?= -)"))
    bootstrap = parse(_text(rendered.bootstrap, "keepalived.conf"))
    # An arbiter claims no VIP.
    claiming = [server for server in intent.servers if server.role is not Role.ARBITER]
    servers = [(server, parse(_text(rendered.of(server), "keepalived.conf"))) for server in claiming]
    faults = []
    for number, vip in enumerate(intent.api.addresses):
        name = f"{intent.name}_API_{number}"
        nodes = _by_address(name, vip, servers)
        faults += policy_faults(intent.api.policy, bootstrap[name], released, nodes)
        own = str(intent.bootstrap.address_of(vip.version))
        later = _planned(intent, Role.CONTROL_PLANE, vip)
        faults += peer_faults(intent.api.transport, {own: bootstrap[name], **nodes}, later)
    for number, vip in enumerate(intent.ingress.addresses):
        routers = _by_address(f"{intent.name}_INGRESS_{number}", vip, servers)
        faults += peer_faults(intent.ingress.transport, routers, _planned(intent, intent.ingress_role, vip))
    return faults


def _by_address(name: str, vip: Address, servers: Claims) -> dict[str, Instance]:
    """Return the instances of this name, by the address of their server in the family of the VIP."""
    return {str(server.address_of(vip.version)): own[name] for server, own in servers if name in own}


def _planned(intent: Intent, role: Role, vip: Address) -> set[str]:
    """Return the addresses of the spares that may become servers of a role."""
    spares = [spare for spare in intent.spares if spare.spare_of is role]
    return {str(address) for spare in spares for address in spare.addresses if address.version == vip.version}


def policy_faults(policy: Policy, bootstrap: Instance, released: int, nodes: Mapping[str, Instance]) -> list[str]:
    """Return the contradictions to the rule that the policy decides which machine has the VIP in every state.

    Under `release`, the bootstrap has it until it is asked to let go; under `preempt`, until a node serves. Under
    both, once the bootstrap has let go or has no API, a node that serves has it, or else the bootstrap.

    Args:
        policy: The policy of the VIP.
        bootstrap: The bootstrap's instance.
        released: The number added to the bootstrap's priority once it has let go.
        nodes: The instances of the control plane, by address.
    """
    return [*_ranks(policy, bootstrap, released, nodes), *_ties(bootstrap, released, nodes)]


def peer_faults(transport: Transport, machines: Mapping[str, Instance], later: Set[str] = frozenset()) -> list[str]:
    """Return the contradictions to this: with unicast every machine lists all others, with multicast none.

    Args:
        transport: The transport of the VIP.
        machines: The instances that claim it, by address.
        later: The addresses of those that may claim it later.
    """
    return [
        f"{address} does not list exactly the other machines as unicast peers"
        for address, instance in machines.items()
        if instance.peers != ({*machines, *later} - {address} if transport == "unicast" else set())
    ]


def _ranks(policy: Policy, bootstrap: Instance, released: int, nodes: Mapping[str, Instance]) -> Iterator[str]:
    best = max(node.effective() for node in nodes.values())
    serving = min(node.effective(node.scripts.keys() - {SERVES}) for node in nodes.values())
    idle = max(node.effective({SERVES}) for node in nodes.values())
    states = {
        "that holds": bootstrap.effective(),
        "that let go": bootstrap.effective(extra=released),
        "without an API": bootstrap.effective(bootstrap.scripts.keys()),
    }
    if policy == "release" and best >= (holding := states.pop("that holds")):
        yield f"a healthy control-plane node ({best}) outranks the bootstrap that holds ({holding})"
    for what, own in states.items():
        if own >= serving:
            yield f"the bootstrap {what} ({own}) outranks a control-plane node that serves ({serving})"
        if own <= idle:
            yield f"a control-plane node that serves nothing ({idle}) outranks the bootstrap {what} ({own})"


def _ties(bootstrap: Instance, released: int, nodes: Mapping[str, Instance]) -> Iterator[str]:
    own = bootstrap.ever(released)
    for address, node in nodes.items():
        if equal := own & node.ever():
            yield f"{address} and the bootstrap may both advertise {', '.join(map(str, sorted(equal)))}"
    if len({node.priority for node in nodes.values()}) < len(nodes):
        yield "control-plane nodes of one rank would fight for the VIP"
    delays = [node.delay_s for node in sorted(nodes.values(), key=lambda node: -node.priority)]
    if delays != list(range(len(nodes))):
        yield f"control-plane nodes outrank a holder after {delays} s, wanted one per second by rank"


def _instance(text: str, head: str) -> Instance:
    own = _block(text, head)
    tracked = _block(own, "track_script").split()
    scripts = {name: int(_weight(_block(text, f"vrrp_script {name}"))) for name in tracked}
    lines = _block(own, "unicast_peer").splitlines() if "unicast_peer" in own else []
    peers = [line.removesuffix(" min_ttl 255 max_ttl 255").strip() for line in lines if line]
    delay = _value(own, "preempt_delay") if "preempt_delay" in own else "0"
    return Instance(int(_value(own, "priority")), scripts, frozenset(peers), int(delay))


def _weight(script: str) -> str:
    """Return a check's weight; a check without one stops its instance, and adds nothing to a priority."""
    return _value(script, "weight") if "weight" in script else "0"


def _text(files: Files, name: str) -> str:
    return next(file.text for file in files if file.name == name)


def _block(text: str, head: str) -> str:
    """Return the text between a head and its closing brace, which has the indentation of the head."""
    block = re.search(rf"^( *){re.escape(head)} \{{$(.*?)^\1\}}$", text, re.M | re.S)
    if not block:
        raise ValueError(f"the text has no {head}")
    return block[2]


def _value(text: str, name: str) -> str:
    value = re.search(rf"^\s*{name} (-?\d+)", text, re.M)
    if not value:
        raise ValueError(f"the text has no {name}")
    return value[1]
