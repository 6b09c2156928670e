"""What a refresh says of the API VIP, by real kernels in a network of their own; what the API is known by."""

import hashlib
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import pytest

from lab.payload.ignition import pointer
from providers.base.dynamic import Props, Provider
from providers.vip_handoff.provider import Lan, VipHandoffProvider, _engine
from providers.vip_held.provider import VipHeldProvider
from testing.certificates import authority
from testing.fakes.lan import BOOTSTRAP, CLUSTER, MACS, NODES, STRANGER, VIP
from testing.kubeconfigs import write_kubeconfig
from testing.namespaces import give_up_raw_sockets, in_own_network, ip, needs_root, neighbour
from wires.segment.neighbours import UNPROVEN

pytestmark = needs_root
KNOWN = {"holder": "okd-bootstrap", "mac": BOOTSTRAP, "macs": [BOOTSTRAP], "gap_ms": 31}
NODE = NODES["master-0"]


@contextmanager
def segment(answers: dict[str, list[str]]) -> Iterator[None]:
    """A bridge with a machine for each of the addresses that a MAC answers."""
    ip("link add baremetal type bridge")
    ip("link set baremetal up")
    ip("address add 192.0.2.1/24 dev baremetal")
    with ExitStack() as stack:
        for number, (mac, addresses) in enumerate(answers.items()):
            stack.enter_context(neighbour("baremetal", f"p{number}", mac, *(f"{each}/24" for each in addresses)))
        yield


def refreshed(answers: dict[str, list[str]]) -> Props:
    def work() -> Props:
        with segment(answers):
            return VipHandoffProvider().read("id", {**vars(CLUSTER), **KNOWN}).outs or {}

    return in_own_network(work)


@pytest.mark.parametrize(
    ("answers", "holder", "said"),
    [
        pytest.param({BOOTSTRAP: [VIP]}, "okd-bootstrap", "held by okd-bootstrap, 1 MACs answer", id="bootstrap"),
        pytest.param({MACS[NODE]: [VIP, NODE]}, "master-0", "held by master-0, 1 MACs answer", id="a-node"),
        pytest.param({STRANGER: [VIP]}, None, "held by no one machine, 1 MACs answer", id="a-stranger"),
        pytest.param(
            {BOOTSTRAP: [VIP], STRANGER: [VIP]}, None, "held by no one machine, 2 MACs answer", id="two-answer"
        ),
    ],
)
def test_a_refresh_says_who_holds_the_vip_and_how_many_answer(
    answers: dict[str, list[str]], holder: str | None, said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    seen = refreshed(answers)
    mac = next(iter(answers)) if holder else None
    assert (seen["holder"], seen["mac"], seen["macs"]) == (holder, mac, sorted(answers))
    assert seen["gap_ms"] == 31, "what the move has shown stays"
    assert f"VIP {VIP}: {said}" in capsys.readouterr().out


def test_a_vip_that_nobody_answers_keeps_what_was_known_and_says_so(capsys: pytest.CaptureFixture[str]) -> None:
    assert {name: refreshed({})[name] for name in KNOWN} == KNOWN
    assert "nobody answers it now" in capsys.readouterr().out


def test_a_machine_that_is_not_on_the_segment_keeps_what_was_known_and_says_so(
    capsys: pytest.CaptureFixture[str],
) -> None:
    def work() -> Props:
        return VipHandoffProvider().read("id", {**vars(CLUSTER), **KNOWN}).outs or {}

    assert {name: in_own_network(work)[name] for name in KNOWN} == KNOWN
    assert "not seen: " in capsys.readouterr().out


@pytest.mark.parametrize("provider", [VipHandoffProvider(), VipHeldProvider()], ids=["handoff", "held"])
@pytest.mark.parametrize("raw", [True, False], ids=["raw", "no-raw"])
def test_what_cannot_be_proven_without_raw_sockets_is_an_output_and_a_warning(
    provider: Provider, raw: bool, payload: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    props = {**inputs(payload), "phase": "production", "import_production": True, "vip": VIP}

    def work() -> Props:
        with segment({MACS[NODE]: [VIP, NODE]}):
            if not raw:
                give_up_raw_sockets()
            return provider.create(props).outs or {}

    outs = in_own_network(work)
    assert (outs["holder"], outs["unproven"]) == ("master-0", None if raw else UNPROVEN)
    assert (f"api: {UNPROVEN}" in capsys.readouterr().err) != raw


@pytest.mark.parametrize(("phase", "ended"), [("bootstrap", ["test"]), ("production", [])])
def test_who_ends_a_cluster_in_phase_bootstrap_ends_its_vm_before_the_vm_is_deleted(
    phase: str, ended: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[str] = []
    # libvirt's own test driver has the domain `test`; it knows no power button.
    monkeypatch.setattr("providers.vip_handoff.provider.stop", lambda _, name, **__: asked.append(name))
    props = {"libvirt_uri": "test:///default", "bootstrap_name": "test", "urn": "", "shutdown_s": 5.0}
    VipHandoffProvider().delete("192.0.2.5", {**props, "phase": phase})
    assert asked == ended


def inputs(payload: Path) -> Props:
    """Of a stack whose payload is there now."""
    payload.mkdir(parents=True)
    master = pointer("https://api-int.okd.lab.test:22623/config/master", authority("other-ca").pem)
    (payload / "master.ign").write_text(master)
    machine = {"libvirt_uri": "test:///default", "urn": "urn::api", "shutdown_s": 5.0}
    props: dict[str, Any] = {**vars(CLUSTER), **machine, "stack": "prod", "domain": "okd.lab.test"}
    return {**props, "payload_sha256": hashlib.sha256(master.encode()).hexdigest()}


@pytest.mark.parametrize("there", [True, False], ids=["kubeconfig", "none"])
def test_with_a_kubeconfig_okd_is_asked_and_its_own_cas_are_trusted(there: bool, payload: Path) -> None:
    props = inputs(payload)
    if there:
        write_kubeconfig(payload)
    engine = _engine(props)
    assert isinstance(engine.segment, Lan)
    root, signer = authority("other-ca").pem, authority("test-ca").pem
    assert engine.segment.api.ca_pem == root + (signer if there else "")
    assert (engine.signal is not None) == there
