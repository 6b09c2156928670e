"""The provider of the network preflight, on a machine with its own bridge and no resolver."""

import errno
import socket
import sys
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from base.errors import PreflightError
from providers.network_preflight import probe
from providers.network_preflight.model import NetworkPreflightSpec
from providers.network_preflight.provider import NetworkPreflightProvider
from testing import plans
from testing.checkout import ROOT
from testing.namespaces import in_own_network, ip, needs_root, neighbour, run_on_a_machine
from testing.progress import into
from wires.segment import dhcp, vrrp
from wires.segment.neighbours import QUESTIONS

pytestmark = needs_root

BOOTSTRAP, STRANGER = plans.plan().bootstrap.mac, "02:00:00:00:00:99"
API = "192.168.111.5/24"
LISTEN_S = probe.LISTEN_S


@pytest.fixture(autouse=True)
def _quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(probe, "LISTEN_S", 0.1)
    monkeypatch.setattr("wires.segment.neighbours.QUESTIONS", 1)


@pytest.fixture
def props() -> dict[str, Any]:
    """The inputs that Pulumi's engine passes: numbers are floats."""
    wanted = NetworkPreflightSpec.of(plans.plan()).model_dump(mode="json")
    for claim in (wanted["api"], wanted["ingress"]):
        claim["router_id"] = float(claim["router_id"])
    return {**wanted, "urn": "a::urn::okd-network"}


def on_the_segment(work: Callable[[], Any], holder: str = "") -> Any:
    """Run `work` on the provisioner; a machine with the MAC `holder` answers the VIP, or none does."""

    def inside() -> Any:
        ip("link add baremetal type bridge")
        ip("link set baremetal up")
        ip("address add 192.168.111.1/24 dev baremetal")
        with ExitStack() as machines:
            if holder:
                machines.enter_context(neighbour("baremetal", "port", holder, API))
            return work()

    return in_own_network(inside)


def test_it_is_created_on_a_segment_without_other_machines(
    props: dict[str, Any], capfd: pytest.CaptureFixture[str]
) -> None:
    created = on_the_segment(lambda: NetworkPreflightProvider().create(props), BOOTSTRAP)
    warnings = created.outs["warnings"]
    assert created.outs == {**props, "warnings": warnings, "unseen": [], "leaving": {}}
    assert [line.partition(":")[0] for line in warnings] == [
        f"{name}.okd.lab.test" for name in ("api", "preflight.apps")
    ]
    reported = capfd.readouterr().err
    assert "okd-network: listening for VRRP: baremetal, 0.1 s\n" in reported
    assert f"okd-network: {warnings[0]}\n" in reported
    assert reported.endswith("okd-network: ready\n")


def test_a_stranger_refuses_the_creation_and_the_update(props: dict[str, Any]) -> None:
    provider = NetworkPreflightProvider()
    for act in (lambda: provider.create(props), lambda: provider.update("network", props, props)):
        with pytest.raises(PreflightError) as caught:
            on_the_segment(act, STRANGER)
        head, finding, *_ = str(caught.value).splitlines()
        assert head == "the network is not ready, 1 finding; nothing was started, no VIP moved"
        assert finding.strip().startswith(f"API VIP 192.168.111.5: answered by {STRANGER} (locally administered), ")


def test_a_refresh_reports_findings_and_keeps_the_state(
    props: dict[str, Any], capfd: pytest.CaptureFixture[str]
) -> None:
    state = {**props, "warnings": ["an old one"], "unseen": [], "leaving": {}}
    refreshed = on_the_segment(lambda: NetworkPreflightProvider().read("network", state), STRANGER)
    assert (refreshed.id, refreshed.outs) == ("network", state)
    assert f"okd-network: API VIP 192.168.111.5: answered by {STRANGER}" in capfd.readouterr().err


def test_a_refresh_names_compute_whose_drain_failed(props: dict[str, Any], capfd: pytest.CaptureFixture[str]) -> None:
    """It holds the Ingress VIP still, and is no stranger."""
    left = {"okd-worker-9": ["192.168.111.29"]}
    state = {**props, "phase": "production", "warnings": [], "unseen": [], "leaving": left}

    def read() -> Any:
        with neighbour("baremetal", "left", STRANGER, "192.168.111.4/24", "192.168.111.29/24"):
            return NetworkPreflightProvider().read("network", state)

    assert on_the_segment(read).outs == state
    told = capfd.readouterr().err
    assert "okd-network: Ingress VIP 192.168.111.4: held by okd-worker-9, which has left the install-config" in told
    assert "answered by" not in told


def test_a_refresh_from_outside_the_segment_does_not_fail(
    props: dict[str, Any], capfd: pytest.CaptureFixture[str]
) -> None:
    state = {**props, "warnings": ["an old one"], "unseen": [], "leaving": {}}
    refreshed = in_own_network(lambda: NetworkPreflightProvider().read("network", state))
    assert (refreshed.id, refreshed.outs) == ("network", state)
    assert "okd-network: not probed: API VIP 192.168.111.5: 192.168.111.5: no interface" in capfd.readouterr().err


@pytest.mark.parametrize(
    ("error", "problem"),
    [
        (ConnectionRefusedError(errno.ECONNREFUSED, "refused"), None),
        (ConnectionResetError(errno.ECONNRESET, "reset"), None),
        (TimeoutError("timed out"), "timed out"),
    ],
    ids=["refused", "reset", "silent"],
)
def test_a_balancer_without_backends_may_refuse_or_reset(
    monkeypatch: pytest.MonkeyPatch, error: OSError, problem: str | None
) -> None:
    def answer(address: tuple[str, int], timeout: float) -> None:
        assert (address, timeout) == (("192.0.2.5", 6443), probe.CONNECT_S)
        raise error

    monkeypatch.setattr(socket, "create_connection", answer)
    assert probe.LocalNetworkProbe(print).unanswered("192.0.2.5", 6443) == problem


def test_a_lost_answer_makes_no_machine_foreign(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("wires.segment.neighbours.QUESTIONS", QUESTIONS)
    answers = iter([frozenset[str](), frozenset({BOOTSTRAP}), frozenset[str]()])
    monkeypatch.setattr(probe, "interface_to", lambda _: "baremetal")
    monkeypatch.setattr(probe, "answering_macs", lambda *_: next(answers))
    assert probe.LocalNetworkProbe(print).macs_of("192.168.111.21") == {BOOTSTRAP}


def test_a_vrrp_master_is_heard_on_each_network_of_the_vips(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A backup waits for 3 adverts and a part of a second before it takes the VIP: what it hears is heard here."""
    monkeypatch.setattr(probe, "LISTEN_S", LISTEN_S)
    monkeypatch.setattr(probe, "interface_to", {"192.168.111.5": "baremetal", "fd2e::5": "second"}.__getitem__)
    listened = dict[str, float]()
    monkeypatch.setattr(vrrp, "adverts", lambda interface, wait_s: listened.setdefault(interface, wait_s) and ())
    probe.LocalNetworkProbe(print).adverts(["192.168.111.5", "fd2e::5"])
    assert listened.keys() == {"baremetal", "second"}
    assert min(listened.values()) >= 3 + 255 / 256


def test_a_dhcp_server_has_time_to_ping_an_address_before_its_offer(monkeypatch: pytest.MonkeyPatch) -> None:
    """Dnsmasq 2.90 offers one after 3.0 s."""
    asked = dict[tuple[str, str], float]()
    monkeypatch.setattr(
        dhcp, "offers", lambda interface, mac, wait_s: asked.setdefault((interface, mac), wait_s) and ()
    )
    reported = list[str]()
    assert probe.LocalNetworkProbe(into(reported)).dhcp_offers("provisioning", STRANGER) == ()
    ((question, wait_s),) = asked.items()
    assert question == ("provisioning", STRANGER)
    assert wait_s >= 4
    assert reported == [f"asking for DHCP: provisioning as {STRANGER}, at most {wait_s:g} s"]


def test_a_deletion_probes_nothing(props: dict[str, Any], monkeypatch: pytest.MonkeyPatch) -> None:
    def asked(_: object) -> None:
        raise AssertionError("probed")

    monkeypatch.setattr("providers.network_preflight.provider.LocalNetworkProbe", asked)
    NetworkPreflightProvider().delete("network", props)
    with pytest.raises(AssertionError, match="probed"):
        NetworkPreflightProvider().read("network", props)


def test_names_are_resolved_by_the_machines_own_resolver(tmp_path: Path) -> None:
    """It returns the names in /etc/hosts, of both families; any other name is an error."""
    (tmp_path / "etc").mkdir()
    (tmp_path / "etc/nsswitch.conf").write_text("hosts: files\n")
    (tmp_path / "etc/hosts").write_text("192.0.2.5 api.okd.lab.test\n2001:db8::5 api.okd.lab.test\n")
    program = tmp_path / "resolve.py"
    program.write_text(
        "from providers.network_preflight.probe import LocalNetworkProbe\n"
        "print(*(LocalNetworkProbe(print).resolve('api.okd.lab.test', version) for version in (4, 6)))\n"
        "try: LocalNetworkProbe(print).resolve('other.okd.lab.test', 4)\n"
        "except OSError as error: print(error.strerror)\n"
    )
    done = run_on_a_machine(f"PYTHONPATH={ROOT} {sys.executable} {program}", tmp_path)
    assert done.stdout == "frozenset({'192.0.2.5'}) frozenset({'2001:db8::5'})\nName or service not known\n", (
        done.stderr
    )
