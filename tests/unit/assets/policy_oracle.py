"""The oracle of the priority policy: it judges the text that keepalived reads, not the plan behind it."""

import re
from collections.abc import Iterator, Mapping, Set
from dataclasses import dataclass
from itertools import chain, combinations

from assets.file import Files
from assets.render import render
from cluster.plan import Intent
from cluster.values.vrrp import Policy

LOWEST, HIGHEST = 1, 254  # keepalived clamps a priority after the weights are added
SERVES = "load_balancer"  # the check that succeeds if this node can serve the API


@dataclass(frozen=True)
class Instance:
    """One instance of a machine's keepalived.conf."""

    priority: int
    scripts: dict[str, int]
    """Weight of each tracked check."""
    peers: frozenset[str] = frozenset()
    """Empty for multicast."""

    def effective(self, failing: Set[str] = frozenset(), extra: int = 0) -> int:
        """Return the advertised priority: a check adds a positive weight on success, a negative one on failure."""
        votes = sum(weight for name, weight in self.scripts.items() if (weight < 0) == (name in failing))
        return min(max(self.priority + votes + extra, LOWEST), HIGHEST)

    def ever(self, extra: int = 0) -> set[int]:
        """Return every priority that may be advertised, whichever checks fail."""
        names = list(self.scripts)
        failures = chain.from_iterable(combinations(names, count) for count in range(len(names) + 1))
        return {self.effective(set(failing), each) for failing in failures for each in {0, extra}}


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


def contradictions(intent: Intent) -> list[str]:
    """Return the contradictions to the policy of the API VIP in a cluster's rendered files, each family by itself."""
    rendered = render(intent)
    released = int(_value(_text(rendered.bootstrap, "okd-vip-channel.sh"), "echo(?= -)"))
    bootstrap = parse(_text(rendered.bootstrap, "keepalived.conf"))
    nodes = [(each, parse(_text(rendered.of(each), "keepalived.conf"))) for each in intent.control_plane]
    found = []
    for number, vip in enumerate(intent.api.addresses):
        name = f"{intent.name}_API_{number}"
        address = str(intent.bootstrap.address_of(vip.version))
        rivals = {str(node.address_of(vip.version)): own[name] for node, own in nodes}
        found += judge(intent.api.policy, address, bootstrap[name], released, rivals)
    return found


def judge(
    policy: Policy, address: str, bootstrap: Instance, released: int, nodes: Mapping[str, Instance]
) -> list[str]:
    """Return the contradictions to the rule that the policy decides which machine holds the VIP in every state.

    Under `release`, the bootstrap holds it until it is asked to let go; under `preempt`, until a node serves. Under
    both, once the bootstrap has let go or has no API, a node that serves holds it, or else the bootstrap.

    Args:
        policy: The policy of the VIP.
        address: The bootstrap's address.
        bootstrap: The bootstrap's instance.
        released: The number added to the bootstrap's priority once it has let go.
        nodes: The instances of the control plane, by address.
    """
    return [
        *_ranks(policy, bootstrap, released, nodes),
        *_ties(bootstrap, released, nodes),
        *_peers({address: bootstrap, **nodes}),
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


def _peers(machines: Mapping[str, Instance]) -> Iterator[str]:
    """Check that all use multicast, or that every machine lists every other one."""
    if any(instance.peers for instance in machines.values()):
        for machine, instance in machines.items():
            if instance.peers != machines.keys() - {machine}:
                yield f"{machine} does not list exactly the other machines as unicast peers"


def _instance(text: str, head: str) -> Instance:
    own = _block(text, head)
    tracked = _block(own, "track_script").split()
    scripts = {name: int(_weight(_block(text, f"vrrp_script {name}"))) for name in tracked}
    peers = _block(own, "unicast_peer").split() if "unicast_peer" in own else ()
    return Instance(int(_value(own, "priority")), scripts, frozenset(peers))


def _weight(script: str) -> str:
    """Return a check's weight; a check without one stops its instance, and adds nothing to a priority."""
    return _value(script, "weight") if "weight" in script else "0"


def _text(files: Files, name: str) -> str:
    return next(file.text for file in files if file.name == name)


def _block(text: str, head: str) -> str:
    """The text between a head and the brace that ends it, which is indented as the head is."""
    found = re.search(rf"^( *){re.escape(head)} \{{$(.*?)^\1\}}$", text, re.M | re.S)
    if not found:
        raise ValueError(f"no {head} in it")
    return found[2]


def _value(text: str, name: str) -> str:
    found = re.search(rf"^\s*{name} (-?\d+)", text, re.M)
    if not found:
        raise ValueError(f"no {name} in it")
    return found[1]
