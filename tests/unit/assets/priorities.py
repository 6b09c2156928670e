"""Proof of the priority policy, from what keepalived will read and not from what it was rendered of."""

import re
from collections.abc import Iterator, Mapping, Set
from dataclasses import dataclass
from itertools import chain, combinations

from assets.keepalived import on_control_plane
from assets.render import Files, keepalived_conf, render_bootstrap
from cluster.plan import Intent
from cluster.values.vrrp import Policy
from providers.base.errors import AssetError

LOWEST, HIGHEST = 1, 254  # keepalived clamps what weights make of a priority
SERVES = "load_balancer"  # the check that says: this node has an API to offer


@dataclass(frozen=True)
class Instance:
    """One instance of a machine's keepalived.conf."""

    priority: int
    scripts: dict[str, int]
    """Weight of each tracked check."""
    peers: frozenset[str] = frozenset()
    """Empty: multicast."""

    def effective(self, failing: Set[str] = frozenset(), extra: int = 0) -> int:
        """What is advertised: a positive weight counts while its check succeeds, a negative one while it fails."""
        votes = sum(weight for name, weight in self.scripts.items() if (weight < 0) == (name in failing))
        return min(max(self.priority + votes + extra, LOWEST), HIGHEST)

    def ever(self, extra: int = 0) -> set[int]:
        """All that may be advertised, whatever fails."""
        names = list(self.scripts)
        failures = chain.from_iterable(combinations(names, count) for count in range(len(names) + 1))
        return {self.effective(set(failing), each) for failing in failures for each in {0, extra}}


def parse(text: str) -> dict[str, Instance]:
    """Read a keepalived.conf.

    Returns:
        Its instances by name.

    Raises:
        AssetError: Something is not in it that each of ours has.
    """
    return {
        name: _instance(text, f"vrrp_instance {name}") for name in re.findall(r"^vrrp_instance (\S+) {$", text, re.M)
    }


def check_policy(plan: Intent) -> None:
    """Render both sides of a plan's API VIP and judge them, each family by itself.

    Raises:
        AssetError: See `judge`.
    """
    ours = render_bootstrap(plan)
    released = int(_value(_text(ours, "okd-vip-channel.sh"), "echo(?= -)"))
    bootstrap = parse(_text(ours, "keepalived.conf"))
    nodes = {each.name: parse(keepalived_conf(on_control_plane(plan, each)).text) for each in plan.control_plane}
    for number, vip in enumerate(plan.api.addresses):
        name = f"{plan.name}_API_{number}"
        found = {
            str(server.address_of(vip.version)): _named(nodes[server.name], name) for server in plan.control_plane
        }
        judge(plan.api.policy, str(plan.bootstrap.address_of(vip.version)), _named(bootstrap, name), released, found)


def judge(policy: Policy, address: str, bootstrap: Instance, released: int, nodes: Mapping[str, Instance]) -> None:
    """Who holds the VIP must follow from the policy in every state.

    `release`: the bootstrap, while it says so. `preempt`: a node that serves, as soon as there is one. Under both,
    once the bootstrap lets go, or its API is gone: a node that serves, else the bootstrap.

    Raises:
        AssetError: A number or a peer contradicts that; one line per problem.
    """
    problems = [
        *_ranks(policy, bootstrap, released, nodes),
        *_ties(bootstrap, released, nodes),
        *_peers({address: bootstrap, **nodes}),
    ]
    if problems:
        raise AssetError("\n".join(f"keepalived.conf: {problem}" for problem in problems))


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
    """All by multicast, or everybody lists everybody else."""
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
    """A check without one takes its instance out, and has no say in a priority."""
    return _value(script, "weight") if "weight" in script else "0"


def _text(files: Files, name: str) -> str:
    return next(file.text for file in files if file.name == name)


def _named(instances: Mapping[str, Instance], name: str) -> Instance:
    if name not in instances:
        raise AssetError(f"keepalived.conf: no vrrp_instance {name} in it")
    return instances[name]


def _block(text: str, head: str) -> str:
    """What stands between a head and the brace that ends it, which is indented as the head is."""
    found = re.search(rf"^( *){re.escape(head)} \{{$(.*?)^\1\}}$", text, re.M | re.S)
    if not found:
        raise AssetError(f"keepalived.conf: no {head} in it")
    return found[2]


def _value(text: str, name: str) -> str:
    found = re.search(rf"^\s*{name} (-?\d+)", text, re.M)
    if not found:
        raise AssetError(f"no {name} in a rendered file")
    return found[1]
