"""A refresh of the API VIP on real kernels in a network of their own; the CAs by which the API is trusted."""

import hashlib
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from base.errors import BusyError
from base.lock import held
from cluster.values.phase import Phase
from providers import registered
from providers.pulumi.dynamic import Props, Provider
from providers.vip_handoff import provider as vip_handoff
from providers.vip_handoff.adapters import LocalClusterProbe
from providers.vip_handoff.model import VipHandoffOuts
from providers.vip_handoff.provider import VipHandoffProvider, _engine
from providers.vip_held.provider import VipHeldProvider
from testing import payloads
from testing.certificates import authority
from testing.fakes.lan import BOOTSTRAP, MACS, NODES, PROPS, STRANGER, VIP, spec_with
from testing.kubeconfigs import write_kubeconfig
from testing.libvirt_nodes import uri_with
from testing.namespaces import give_up_raw_sockets, in_own_network, needs_root
from testing.scene.answering import answering
from wires.segment.neighbours import UNPROVEN

pytestmark = needs_root
KNOWN = {"holder": "okd-bootstrap", "mac": BOOTSTRAP, "macs": [BOOTSTRAP], "gap_ms": 31}
NODE = NODES["master-0"]


def refreshed(answers: dict[str, list[str]]) -> Props:
    def work() -> Props:
        with answering(answers):
            return VipHandoffProvider().read("id", {**PROPS, **KNOWN}).outs or {}

    return in_own_network(work)


@pytest.mark.parametrize(
    ("answers", "holder", "line"),
    [
        pytest.param({BOOTSTRAP: [VIP]}, "okd-bootstrap", "held by okd-bootstrap, 1 MACs answer", id="bootstrap"),
        pytest.param({MACS[NODE]: [VIP, NODE]}, "master-0", "held by master-0, 1 MACs answer", id="a-node"),
        pytest.param({STRANGER: [VIP]}, None, "held by no one machine, 1 MACs answer", id="a-stranger"),
        pytest.param(
            {BOOTSTRAP: [VIP], STRANGER: [VIP]}, None, "held by no one machine, 2 MACs answer", id="two-answer"
        ),
    ],
)
def test_a_refresh_reports_the_holder_of_the_vip_and_all_that_answer(
    answers: dict[str, list[str]], holder: str | None, line: str, capsys: pytest.CaptureFixture[str]
) -> None:
    outs = refreshed(answers)
    mac = next(iter(answers)) if holder else None
    assert (outs["holder"], outs["mac"], outs["macs"]) == (holder, mac, sorted(answers))
    assert outs["gap_ms"] == 31, "the outputs of the move stay"
    assert f"API VIP {VIP}: {line}" in capsys.readouterr().err


def test_a_refresh_without_an_answer_keeps_the_state_with_a_warning(
    capsys: pytest.CaptureFixture[str],
) -> None:
    outs = refreshed({})
    assert {name: outs[name] for name in KNOWN} == KNOWN
    assert f"API VIP {VIP}: no machine answers it now; the recorded holder stays" in capsys.readouterr().err


def test_a_refresh_from_outside_the_segment_keeps_the_state_with_a_warning(
    capsys: pytest.CaptureFixture[str],
) -> None:
    def work() -> Props:
        return VipHandoffProvider().read("id", {**PROPS, **KNOWN}).outs or {}

    outs = in_own_network(work)
    assert {name: outs[name] for name in KNOWN} == KNOWN
    assert (
        f"API VIP {VIP}: could not be probed; the recorded holder stays: {VIP}: no interface of"
        in capsys.readouterr().err
    )


@pytest.mark.parametrize("provider", [VipHandoffProvider(), VipHeldProvider()], ids=["handoff", "held"])
@pytest.mark.parametrize("raw", [True, False], ids=["raw", "no-raw"])
def test_the_proof_missing_without_raw_sockets_is_an_output_and_a_warning(
    provider: Provider[Any, Any],
    raw: bool,
    payload: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    # Nothing but ARP answers on this segment.
    monkeypatch.setattr("providers.vip_held.provider.handshake_problem", lambda *_, **__: None)
    props = {**inputs(payload), "phase": "production", "import_production": True, "vip": VIP}

    def work() -> Props:
        with answering({MACS[NODE]: [VIP, NODE]}):
            if not raw:
                give_up_raw_sockets()
            return provider.create(props).outs or {}

    outs = in_own_network(work)
    assert (outs["holder"], outs["unproven"]) == ("master-0", None if raw else UNPROVEN)
    assert (f"api: {UNPROVEN}" in capsys.readouterr().err) != raw


@pytest.mark.parametrize(("phase", "ended"), [("bootstrap", ["okd-bootstrap"]), ("production", [])])
def test_a_delete_in_phase_bootstrap_ends_the_vm(
    phase: str, ended: list[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    asked: list[str] = []
    # A guest of libvirt's own test driver has no power button.
    monkeypatch.setattr("providers.vip_handoff.adapters.end", lambda _, name, **__: asked.append(name))
    uri = uri_with(tmp_path, "okd-bootstrap", f"okd-baremetal/{PROPS['stack']}")
    VipHandoffProvider().delete("192.0.2.5", {**PROPS, "libvirt_uri": uri, "phase": phase})
    assert asked == ended


def inputs(payload: Path) -> Props:
    """Return the inputs of a stack whose payload exists."""
    payload.mkdir(parents=True)
    master = payloads.pointer("https://api-int.okd.lab.test:22623/config/master", authority("other-ca").pem)
    (payload / "master.ign").write_text(master)
    return {**PROPS, "urn": "urn::api", "payload_sha256": hashlib.sha256(master.encode()).hexdigest()}


@pytest.mark.parametrize("there", [True, False], ids=["kubeconfig", "none"])
def test_a_kubeconfig_adds_okds_signal_and_cas(there: bool, payload: Path) -> None:
    props = inputs(payload)
    if there:
        write_kubeconfig(payload)
    engine = _engine(spec_with(**props))
    assert isinstance(engine.probe, LocalClusterProbe)
    root, signer = authority("other-ca").pem, authority("test-ca").pem
    assert engine.probe.api.ca_pem == root + (signer if there else "")
    assert (engine.signal is not None) == there


@dataclass
class Reaching:
    """Takes the place of the engine: notes from which phase it came, and whether the VIP's lock was free."""

    came_from: list[Phase] = field(default_factory=list)
    unlocked: int = 0

    def reach(self, old: Phase, outs: VipHandoffOuts) -> VipHandoffOuts:
        self.came_from.append(old)
        try:
            with held(f"API VIP {VIP}", deadline_s=0):
                self.unlocked += 1
        except BusyError:
            pass
        return outs


@pytest.mark.parametrize(
    ("act", "before"),
    [
        (lambda it, new: it.create(new), Phase.PRODUCTION),
        (lambda it, new: it.update("id", PROPS, new), Phase.BOOTSTRAP),
        (lambda it, new: it.update("id", new, new), Phase.PRODUCTION),
    ],
    ids=["create", "the-handoff", "a-later-up"],
)
def test_one_run_at_a_time_moves_the_vip_from_the_phase_of_the_state(
    act: Callable[[VipHandoffProvider, Props], object],
    before: Phase,
    monkeypatch: pytest.MonkeyPatch,
    lock_folder: Path,
) -> None:
    engine = Reaching()
    monkeypatch.setattr(vip_handoff, "_engine", lambda _: engine)
    act(VipHandoffProvider(), {**PROPS, "phase": "production"})
    assert (engine.came_from, engine.unlocked) == ([before], 0)


def test_a_machine_without_the_payload_keeps_the_kubeconfig_output(
    payload: Path, monkeypatch: pytest.MonkeyPatch, lock_folder: Path
) -> None:
    monkeypatch.setattr(vip_handoff, "_engine", lambda _: Reaching())
    props = inputs(payload)
    write_kubeconfig(payload)
    file = payload / "auth" / "kubeconfig"
    content = file.read_text()
    outs = VipHandoffProvider().create(props).outs or {}
    assert outs["kubeconfig"] == content
    file.unlink()
    assert (VipHandoffProvider().update("id", outs, props).outs or {})["kubeconfig"] == content


@pytest.mark.parametrize(
    ("kubeconfig", "inputs", "has_one"),
    [
        pytest.param("apiVersion: v1", {}, True, id="in-the-state"),
        pytest.param(None, {}, False, id="another-payload"),
        pytest.param(None, {"import_production": True}, True, id="of-a-lost-state"),
    ],
)
def test_a_diff_tells_whether_the_cluster_has_an_api_that_knows_its_nodes(
    kubeconfig: str | None, inputs: Props, has_one: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(registered, "WITH_API", set() if has_one else {PROPS["stack"]})
    props = {**PROPS, **inputs, "urn": "urn::api"}
    VipHandoffProvider().diff("id", {**props, "kubeconfig": kubeconfig}, props)
    assert registered.has_api(PROPS["stack"]) == has_one


@pytest.mark.parametrize("imported", [True, False])
def test_a_creation_tells_it_as_well(imported: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """A state that is lost as a whole has no `VipHandoff`: there is nothing to compare with."""
    monkeypatch.setattr(registered, "WITH_API", set() if imported else {PROPS["stack"]})
    monkeypatch.setattr(vip_handoff, "_reached", lambda *_: VipHandoffOuts())
    VipHandoffProvider().create({**PROPS, "import_production": imported, "urn": "urn::api"})
    assert registered.has_api(PROPS["stack"]) == imported


def test_a_refresh_warns_of_a_certificate_of_the_api_that_expires(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = list[tuple[object, ...]]()

    def soon(*where: object) -> str:
        asked.append(where)
        return "expired on 2026-11-27 08:00 UTC"

    monkeypatch.setattr("providers.vip_handoff.provider.expiry_warning", soon)
    in_own_network(lambda: VipHandoffProvider().read("id", {**PROPS, **KNOWN}))
    assert asked == [(VIP, 6443, f"api.{PROPS['domain']}")]
    assert f"API VIP {VIP}: the certificate of the API expired on 2026-11-27" in capsys.readouterr().err


def test_a_refresh_warns_of_a_site_balancer_that_accepts_no_connection(
    capsys: pytest.CaptureFixture[str],
) -> None:
    state = {**PROPS, **KNOWN, "balancer": "site", "vips": ["127.0.0.1"]}
    outs = in_own_network(lambda: VipHandoffProvider().read("id", state)).outs or {}
    assert {name: outs[name] for name in KNOWN} == KNOWN
    assert (
        "the site's balancer 127.0.0.1: does not accept connections on 6443 now (Connection refused)"
        in capsys.readouterr().err
    )
