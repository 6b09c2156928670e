"""The shell of the network preflight, on a machine with a bridge of its own and no resolver."""

import sys
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pytest
from components.preflight import wire_wanted_of

from providers.base.errors import PreflightError
from providers.network_preflight import segment
from providers.network_preflight.provider import WirePreflightProvider
from testing import plans
from testing.namespaces import in_own_network, ip, needs_root, neighbour, run_on_a_machine

pytestmark = needs_root

BOOTSTRAP, STRANGER = plans.plan().bootstrap.mac, "02:00:00:00:00:99"
API = "192.168.111.5/24"
QUESTIONS = segment.QUESTIONS


@pytest.fixture(autouse=True)
def _quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(segment, "LISTEN_S", 0.1)
    monkeypatch.setattr(segment, "QUESTIONS", 1)


@pytest.fixture
def props() -> dict[str, Any]:
    """What the engine hands in: numbers are floats."""
    wanted = asdict(wire_wanted_of(plans.plan()))
    for claim in (wanted["api"], wanted["ingress"]):
        claim["router_id"] = float(claim["router_id"])
    return {**wanted, "urn": "a::urn::okd-wire"}


def on_the_segment(work: Callable[[], Any], holder: str = "") -> Any:
    """Do `work` on the provisioner; the VIP is answered by a machine with that MAC, or by nobody."""

    def inside() -> Any:
        ip("link add baremetal type bridge")
        ip("link set baremetal up")
        ip("address add 192.168.111.1/24 dev baremetal")
        with ExitStack() as machines:
            if holder:
                machines.enter_context(neighbour("baremetal", "port", holder, API))
            return work()

    return in_own_network(inside)


def test_it_is_created_where_nobody_is_in_the_way(props: dict[str, Any], capfd: pytest.CaptureFixture[str]) -> None:
    created = on_the_segment(lambda: WirePreflightProvider().create(props), BOOTSTRAP)
    warnings = created.outs["warnings"]
    assert created.outs == {**props, "warnings": warnings, "unseen": []}
    assert [line.partition(":")[0] for line in warnings] == [
        f"{name}.okd.lab.test" for name in ("api", "api-int", "preflight.apps")
    ]
    said = capfd.readouterr().err
    assert "okd-wire: listening for VRRP on baremetal, 0.1 s\n" in said
    assert f"okd-wire: {warnings[0]}\n" in said
    assert said.endswith("okd-wire: ready\n")


def test_a_stranger_refuses_the_creation_and_the_update(props: dict[str, Any]) -> None:
    provider = WirePreflightProvider()
    for act in (lambda: provider.create(props), lambda: provider.update("wire", {}, props)):
        with pytest.raises(PreflightError) as caught:
            on_the_segment(act, STRANGER)
        head, finding, *_ = str(caught.value).splitlines()
        assert head == "the network is not ready, 1 finding; nothing was started, no VIP moved"
        assert finding.strip().startswith(f"API VIP 192.168.111.5: answered by {STRANGER} (locally administered), ")


def test_a_refresh_tells_what_is_there_and_keeps_what_was_known(
    props: dict[str, Any], capfd: pytest.CaptureFixture[str]
) -> None:
    state = {**props, "warnings": ["an old one"], "unseen": []}
    found = on_the_segment(lambda: WirePreflightProvider().read("wire", state), STRANGER)
    assert (found.id, found.outs) == ("wire", state)
    assert f"okd-wire: API VIP 192.168.111.5: answered by {STRANGER}" in capfd.readouterr().err


def test_a_refresh_from_elsewhere_does_not_fail(props: dict[str, Any], capfd: pytest.CaptureFixture[str]) -> None:
    found = in_own_network(lambda: WirePreflightProvider().read("wire", props))
    assert found.outs == props
    assert "okd-wire: not looked at: API VIP 192.168.111.5: 192.168.111.5: no interface" in capfd.readouterr().err


def test_an_answer_that_is_lost_makes_no_stranger(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(segment, "QUESTIONS", QUESTIONS)
    answers = iter([frozenset[str](), frozenset({BOOTSTRAP}), frozenset[str]()])
    monkeypatch.setattr(segment, "interface_to", lambda _: "baremetal")
    monkeypatch.setattr(segment, "answering_macs", lambda *_: next(answers))
    assert segment.HostWire(print).macs_of("192.168.111.21") == {BOOTSTRAP}


def test_a_deletion_touches_nothing(props: dict[str, Any]) -> None:
    WirePreflightProvider().delete("wire", props)


def test_the_resolver_is_the_machines_own(tmp_path: Path) -> None:
    """What its /etc/hosts says is said, of both families; what nobody says is an error."""
    (tmp_path / "etc").mkdir()
    (tmp_path / "etc/nsswitch.conf").write_text("hosts: files\n")
    (tmp_path / "etc/hosts").write_text("192.0.2.5 api.okd.lab.test\n2001:db8::5 api.okd.lab.test\n")
    program = tmp_path / "resolve.py"
    program.write_text(
        "from providers.wire_preflight.wire import HostWire\n"
        "print(*(HostWire(print).resolve('api.okd.lab.test', version) for version in (4, 6)))\n"
        "try: HostWire(print).resolve('api-int.okd.lab.test', 4)\n"
        "except OSError as error: print(error.strerror)\n"
    )
    done = run_on_a_machine(f"PYTHONPATH={plans.ROOT} {sys.executable} {program}", tmp_path)
    assert done.stdout == "frozenset({'192.0.2.5'}) frozenset({'2001:db8::5'})\nName or service not known\n", (
        done.stderr
    )
