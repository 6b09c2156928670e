"""Proof of the priority policy `release`, from what keepalived will read and not from what it was rendered of."""

import re
from collections.abc import Mapping, Set
from dataclasses import dataclass
from typing import Self

from assets.errors import AssetError
from assets.render import RenderedFile, render_bootstrap, render_server
from cluster.plan import Intent

LOWEST, HIGHEST = 1, 254  # keepalived clamps what weights make of a priority
SERVES = "load_balancer"  # the check that says: this node has an API to offer


@dataclass(frozen=True)
class Instance:
    """The API instance of one machine's keepalived.conf."""

    priority: int
    scripts: dict[str, int]
    """Weight of each tracked check."""
    peers: frozenset[str]

    @classmethod
    def parse(cls, text: str) -> Self:
        """Read one rendered file."""
        tracked = _block(text, "track_script").split()
        scripts = {name: int(_value(_block(text, f"vrrp_script {name}"), "weight")) for name in tracked}
        peers = frozenset(_block(text, "unicast_peer").split())
        return cls(int(_value(text, "priority")), scripts, peers)

    def effective(self, failing: Set[str] = frozenset(), extra: int = 0) -> int:
        """What is advertised: a positive weight counts while its check succeeds, a negative one while it fails."""
        votes = sum(weight for name, weight in self.scripts.items() if (weight < 0) == (name in failing))
        return min(max(self.priority + votes + extra, LOWEST), HIGHEST)


def check_release_policy(plan: Intent) -> None:
    """Render both sides of a plan's API VIP and judge them.

    Raises:
        AssetError: See `judge`.
    """
    ours = {file.name: file.text for file in render_bootstrap(plan)}
    nodes = {str(server.address): _keepalived(render_server(plan, server)) for server in plan.control_plane}
    released = int(_value(ours["okd-vip-channel.sh"], "echo(?= -)"))
    judge(str(plan.bootstrap.address), Instance.parse(ours["keepalived.conf"]), released, nodes)


def judge(address: str, bootstrap: Instance, released: int, nodes: Mapping[str, Instance]) -> None:
    """Hold while the bootstrap says so; once it lets go, or its API is gone, move to a node that serves, or stay.

    Raises:
        AssetError: A number or a peer contradicts that; one line per problem.
    """
    best = max(node.effective() for node in nodes.values())
    serving = min(node.effective(node.scripts.keys() - {SERVES}) for node in nodes.values())
    idle = max(node.effective({SERVES}) for node in nodes.values())
    holding, dead = bootstrap.effective(), bootstrap.effective(bootstrap.scripts.keys())
    problems = []
    if best >= holding:
        problems.append(f"a healthy control-plane node ({best}) outranks the bootstrap that holds ({holding})")
    for what, own in (("that let go", bootstrap.effective(extra=released)), ("without an API", dead)):
        if own >= serving:
            problems.append(f"the bootstrap {what} ({own}) outranks a control-plane node that serves ({serving})")
        if own <= idle:
            problems.append(
                f"a control-plane node that serves nothing ({idle}) outranks the bootstrap {what} ({own})"
            )
    if len({node.priority for node in nodes.values()}) < len(nodes):
        problems.append("control-plane nodes of one rank would fight for the VIP")
    for machine, instance in {address: bootstrap, **nodes}.items():
        if instance.peers != (nodes.keys() | {address}) - {machine}:
            problems.append(f"{machine} does not list exactly the other machines as unicast peers")
    if problems:
        raise AssetError("\n".join(f"keepalived.conf: {problem}" for problem in problems))


def _keepalived(files: tuple[RenderedFile, ...]) -> Instance:
    return Instance.parse(next(file.text for file in files if file.name == "keepalived.conf"))


def _block(text: str, head: str) -> str:
    found = re.search(rf"^\s*{re.escape(head)} \{{$(.*?)^\s*\}}$", text, re.M | re.S)
    if not found:
        raise AssetError(f"keepalived.conf: no {head} in it")
    return found[1]


def _value(text: str, name: str) -> str:
    found = re.search(rf"^\s*{name} (-?\d+)", text, re.M)
    if not found:
        raise AssetError(f"no {name} in a rendered file")
    return found[1]
