"""The providers that look for the holder of an address, on a segment of either family with real kernels."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import pytest

from providers.host_provisioning.composition import _missing_kubelet
from providers.host_provisioning.installation.adapters import Target
from providers.pulumi.dynamic import Provider
from providers.vip_handoff.provider import VipHandoffProvider
from providers.vip_held.provider import VipHeldProvider
from testing.namespaces import in_own_network, ip, listening, needs_root, neighbour
from wires.segment.neighbours import macs_at

pytestmark = needs_root
MAC, OTHER_MAC = "52:54:00:00:00:21", "52:54:00:00:00:22"


@dataclass(frozen=True)
class Family:
    network: str
    prefix: int

    def at(self, last: int) -> str:
        return f"{self.network}{last}"

    def on_the_segment(self, work: Callable[[], Any]) -> Any:
        """Two nodes, 21 and 22; the VIP, 5, is on the first; kubelet listens on the second."""
        nodad = " nodad" if ":" in self.network else ""

        def inside() -> Any:
            ip("link add baremetal type bridge")
            ip("link set baremetal up")
            ip(f"address add {self.at(1)}/{self.prefix} dev baremetal{nodad}")
            vip, first, second = (f"{self.at(last)}/{self.prefix}" for last in (5, 21, 22))
            with (
                neighbour("baremetal", "first", MAC, first, vip),
                neighbour("baremetal", "second", OTHER_MAC, second) as inside_the_second,
                listening(inside_the_second, 10250),
            ):
                return work()

        return in_own_network(inside)

    @property
    def props(self) -> dict[str, Any]:
        names = {"node-1": self.at(21), "node-2": self.at(22)}
        return {"vip": self.at(5), "nodes": names, "deadline_s": 20.0, "urn": "a::urn::okd-ingress"}


both = pytest.mark.parametrize("family", [Family("192.0.2.", 24), Family("2001:db8::", 64)], ids=["ipv4", "ipv6"])


@both
def test_the_holder_of_a_vip_is_proven(monkeypatch: pytest.MonkeyPatch, family: Family) -> None:
    monkeypatch.setattr("providers.vip_held.provider.handshake_problem", lambda *_, port: None if port == 443 else "")
    created = family.on_the_segment(lambda: VipHeldProvider().create(family.props))
    assert (created.outs["holder"], created.outs["macs"]) == ("node-1", [MAC])


@both
@pytest.mark.parametrize("provider", [VipHeldProvider, VipHandoffProvider])
def test_a_refresh_finds_the_holder(family: Family, provider: type[Provider[Any, Any]]) -> None:
    times = dict.fromkeys(("stable_s", "soak_s", "bootstrap_s", "shutdown_s"), 1.0)
    vm = {"bootstrap_name": "okd-bootstrap", "bootstrap_mac": "52:54:00:00:00:20", "libvirt_uri": "test:///default"}
    cluster = {"phase": "production", "domain": "okd.lab.test", "stack": "test", "payload_sha256": "ab"}
    props = {**family.props, **vm, **cluster, **times, "vips": [family.at(5)], "min_ready": 2.0}
    found = family.on_the_segment(lambda: provider().read("x", props))
    assert (found.outs["holder"], found.outs["macs"]) == ("node-1", [MAC])


@both
def test_a_compute_server_is_up_once_kubelet_listens(family: Family) -> None:
    """The first node only answers ARP or neighbour discovery, as an initramfs does; nobody is at the last address."""

    def up(last: int) -> bool:
        return _missing_kubelet(Target("node", "", family.at(last))) is None

    def both_answer() -> tuple[frozenset[str], list[bool]]:
        return macs_at(family.at(21)), [up(last) for last in (21, 22, 23)]

    assert family.on_the_segment(both_answer) == ({MAC}, [False, True, False])
