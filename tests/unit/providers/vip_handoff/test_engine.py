"""The handoff, edge by edge: the VIP moves and stays moved, or everything is restored."""

import errno
from typing import Any

import pytest

from base.errors import HandoffUnsafeError
from cluster.values.phase import Phase
from providers.vip_handoff.model import VipHandoffOuts, VipHandoffSpec
from testing.fakes.lan import BOOTSTRAP, MACS, NEVER, NODES, SPEC, STRANGER, VIP, VIP6, spec_with
from testing.handoff_rig import BOTH, FIRST, HELD, RELEASED, SECOND, TAKEN, TOOK_IT, Rig


def test_the_vip_moves_and_soaks_and_then_the_vm_is_ended_once() -> None:
    rig = Rig()
    outs = rig.move()
    assert rig.states == ["gate", "ask", "release", "soak", "await", "let go", "done"]
    assert rig.lan.sent == ["status", "release"]
    assert rig.lan.stopped_at == [rig.at("let go")]
    assert rig.at("release") == SPEC.stable_s
    assert rig.at("soak") == SPEC.stable_s + rig.lan.moves_s
    assert rig.at("let go") == rig.at("soak") + SPEC.soak_s
    assert outs.holder == "master-1"
    assert (outs.mac, outs.macs) == (MACS[SECOND], [MACS[SECOND]])
    assert outs.seconds == {"gate": 30, "ask": 0, "release": 4, "soak": 20, "await": 0, "let go": 0}
    assert (outs.gap_ms, outs.gap_at_s, outs.probes_sent, outs.probes_failed) == (31, 33.5, 500, 0)
    assert outs.clients == {"connects_tried": 450}
    assert outs.completion == "not asked: no kubeconfig"
    assert outs.holders == [{"holder": "okd-bootstrap", "at_s": 0}, {"holder": "master-1", "at_s": 34}]
    assert outs.timeline == rig.engine.timeline


def test_a_request_without_answer_after_the_proof_changes_no_output(monkeypatch: pytest.MonkeyPatch) -> None:
    rig = Rig()
    stop = rig.lan.stop

    def stop_with_a_silent_segment() -> None:
        stop()
        rig.lan.macs.append((rig.lan.second, frozenset()))

    monkeypatch.setattr(rig.lan, "stop", stop_with_a_silent_segment)
    outs = rig.move()
    assert rig.lan.vip_macs() == (frozenset(),)
    assert (outs.holder, outs.macs) == ("master-1", [MACS[SECOND]])


def test_a_vm_of_another_libvirt_is_not_counted_as_ended() -> None:
    """The control plane took the VIP by itself, so the VM was never asked: this libvirt does not know it."""
    rig = Rig(**TOOK_IT, elsewhere=True)
    with pytest.raises(HandoffUnsafeError) as caught:
        rig.move()
    assert rig.states == ["gate", "watch", "await", "let go", "left"]
    assert str(caught.value) == (
        f"API VIP {VIP}: at let go: okd-bootstrap still answers 192.0.2.20 by its MAC {BOOTSTRAP}: it runs under "
        "another libvirt than this one, after 10 s; the VIP was left where it is, and the VM runs on. Fix: run "
        "`pulumi up` on the provisioner that has started it; if that one is given up, shut the VM down there, then "
        "run `pulumi up` again here"
    )


def test_a_call_that_the_system_refuses_returns_the_vip(monkeypatch: pytest.MonkeyPatch) -> None:
    """A probe for which this machine has no file descriptor left, right after the release."""
    rig = Rig()
    probe = rig.lan.vip_macs

    def refused() -> tuple[frozenset[str], ...]:
        if rig.lan.sent == ["status", "release"]:
            raise OSError(errno.EMFILE, "Too many open files")
        return probe()

    monkeypatch.setattr(rig.lan, "vip_macs", refused)
    with pytest.raises(HandoffUnsafeError) as caught:
        rig.move()
    assert rig.states == ["gate", "ask", "release", "back", "returned"]
    assert rig.lan.sent == ["status", "release", "hold"]
    assert str(caught.value).startswith(
        f"API VIP {VIP}: at release: the system refuses: Too many open files; the VIP is on the bootstrap again"
    )


def test_the_client_measures_from_before_the_release_until_after_the_soak() -> None:
    rig = Rig()
    rig.move()
    assert rig.lan.order == ["status", "client begins", "release", "client ends", "stop"]


@pytest.mark.parametrize(
    ("lan", "problem"),
    [
        pytest.param(
            {"outages": [(FIRST, 0, NEVER)]},
            "master-0 (192.0.2.21) without answer to /readyz on 6443; 2 of the wanted 3 are ready",
            id="one-down",
        ),
        pytest.param(
            {"outages": [(f"config {address}", 0, NEVER) for address in NODES.values()]},
            "no node of the control plane serves 22623",
            id="no-config-server",
        ),
        pytest.param({"macs": [(0, frozenset())]}, "answered by nobody", id="nobody"),
        pytest.param({"macs": [(0, HELD | TAKEN)]}, f"answered by {BOTH}", id="two-macs"),
        pytest.param({"macs": [(0, frozenset({STRANGER}))]}, f"answered by a stranger ({STRANGER})", id="stranger"),
        pytest.param(
            {"outages": [(FIRST, begin, begin + 5) for begin in range(10, 1000, 25)]},
            "master-0 (192.0.2.21)",
            id="never-ready-for-long-enough",
        ),
    ],
)
def test_a_gate_that_never_opens_fails_without_a_word_to_the_guest(lan: dict[str, Any], problem: str) -> None:
    rig = Rig(**lan)
    error = rig.fails()
    assert "at gate" in str(error)
    assert problem in str(error)
    assert "VIP and VM are untouched" in str(error)
    assert rig.lan.sent == []
    assert rig.lan.order == []
    assert SPEC.deadline_s <= rig.lan.second < SPEC.deadline_s + 1


def test_one_config_server_is_enough() -> None:
    rig = Rig(outages=[(f"config {address}", 0, NEVER) for address in (FIRST, "192.0.2.23")])
    assert rig.move().holder == "master-1"


def test_an_outage_at_the_gate_restarts_its_wait() -> None:
    rig = Rig(outages=[(FIRST, 20, 25)])
    rig.move()
    assert rig.at("release") == 25 + SPEC.stable_s


def test_a_vip_that_never_moves_is_given_back_to_the_bootstrap() -> None:
    rig = Rig(moves_s=NEVER)
    error = rig.fails()
    assert rig.lan.sent == ["status", "release", "hold"]
    assert rig.states == ["gate", "ask", "release", "back", "returned"]
    assert "at release" in str(error)
    assert f"answered by okd-bootstrap ({BOOTSTRAP}), after 30 s" in str(error)
    assert "the VIP is on the bootstrap again, nothing was lost" in str(error)
    assert isinstance(error.__cause__, HandoffUnsafeError)


def test_a_bootstrap_that_does_not_release_is_sent_hold() -> None:
    rig = Rig(answers={"release": "held vip=yes api=yes"})
    error = rig.fails()
    assert "'held vip=yes api=yes', wanted released" in str(error)
    assert rig.lan.sent == ["status", "release", "hold"]


@pytest.mark.parametrize(
    "rubbish", ["unknown word", "", "rel eased", "\x00 \x01"], ids=["refused", "empty", "torn", "binary"]
)
def test_an_unreadable_answer_on_the_channel_is_no_release(rubbish: str) -> None:
    rig = Rig(answers={"release": rubbish})
    rig.fails()
    assert "hold" in rig.lan.sent


def test_a_vip_that_does_not_return_is_reported() -> None:
    rig = Rig(outages=[(VIP, 31, NEVER)], backs_s=NEVER)
    error = rig.fails()
    assert "at soak: master-1 holds it; its API is not ready (status 500)" in str(error)
    assert "returning the VIP failed: at back" in str(error)
    assert f"answered by master-1 ({MACS[SECOND]}), after 30 s" in str(error)
    assert rig.lan.sent == ["status", "release", "hold"]


def test_a_channel_that_fails_after_the_release_leaves_the_vm_running() -> None:
    rig = Rig(outages=[(VIP, 31, NEVER)], silent_s=60)
    error = rig.fails()
    assert "master-1 holds it; its API is not ready (status 500)" in str(error)
    assert "returning the VIP failed: at back: no answer within 10 s" in str(error)
    assert rig.lan.sent == ["status", "release", "hold"]


@pytest.mark.parametrize(
    "answer", [None, "unknown word", "", "held vip=yes"], ids=["none", "refused", "empty", "torn"]
)
def test_a_silent_channel_before_the_release_stops_the_handoff(answer: str | None) -> None:
    rig = Rig(answers={"status": answer})
    error = str(rig.fails())
    assert "at ask: " in error
    assert "VIP and VM are untouched" in error
    assert (f"answered {answer!r}, wanted held" if answer is not None else "no answer within 10 s") in error
    assert rig.lan.order == ["status"]
    assert rig.lan.vip_macs() == (HELD,)


def test_an_outage_in_the_soak_restarts_it() -> None:
    rig = Rig(outages=[(VIP, 45, 50)])
    rig.move()
    assert rig.at("let go") == 50 + SPEC.soak_s
    assert rig.lan.sent == ["status", "release"]


@pytest.mark.parametrize(
    ("lan", "problem"),
    [
        pytest.param(
            {"outages": [(VIP, 36, NEVER)]}, "master-1 holds it; its API is not ready (status 500)", id="api-down"
        ),
        pytest.param({"macs": [(0, HELD), (40, HELD | TAKEN)]}, BOTH, id="two-macs"),
        pytest.param({"macs": [(0, HELD), (40, frozenset())]}, "answered by nobody", id="nobody"),
        pytest.param(
            {"macs": [(0, HELD), (40, HELD)]}, f"answered by okd-bootstrap ({BOOTSTRAP})", id="back-by-itself"
        ),
        pytest.param(
            {"macs": [(0, HELD), (40, frozenset({STRANGER}))]}, f"by a stranger ({STRANGER})", id="stranger"
        ),
    ],
)
def test_a_soak_that_never_lasts_gives_the_vip_back(lan: dict[str, Any], problem: str) -> None:
    rig = Rig(**lan)
    error = rig.fails()
    assert "at soak" in str(error)
    assert problem in str(error)
    assert rig.lan.sent == ["status", "release", "hold"]
    assert rig.at("back") == pytest.approx(rig.at("soak") + 80, abs=1), "four times the soak"


def test_a_vip_that_the_control_plane_took_is_soaked_without_a_release() -> None:
    rig = Rig(**TOOK_IT)
    outs = rig.move()
    assert rig.lan.sent == ["status"]
    assert rig.states == ["gate", "watch", "await", "let go", "done"]
    assert len(rig.lan.stopped_at) == 1
    assert outs.holder == "master-1"


@pytest.mark.parametrize(
    "lan", [{}, {"silent_s": 0}, {"answers": {"status": "unknown word"}}], ids=["held", "gone", "rubbish"]
)
def test_a_vip_that_the_control_plane_took_is_never_taken_back(lan: dict[str, Any]) -> None:
    rig = Rig(**TOOK_IT, outages=[(VIP, 31, NEVER)], **lan)
    assert "at watch" in str(rig.fails())
    assert rig.states == ["gate", "watch", "left"]
    assert rig.lan.sent == ["status"]


def test_a_vip_released_by_a_killed_run_is_soaked() -> None:
    rig = Rig(**RELEASED)
    assert rig.move().holder == "master-1"
    assert rig.states == ["gate", "soak", "await", "let go", "done"]
    assert rig.lan.sent == ["status"]


def test_a_vip_released_by_a_killed_run_is_taken_back_if_it_does_not_serve() -> None:
    rig = Rig(**RELEASED, outages=[(VIP, 31, NEVER)])
    assert "the VIP is on the bootstrap again, nothing was lost" in str(rig.fails())
    assert rig.states == ["gate", "soak", "back", "returned"]
    assert rig.lan.sent == ["status", "hold"]


@pytest.mark.parametrize("lan", [{}, TOOK_IT], ids=["released", "taken-by-the-control-plane"])
def test_the_vm_runs_on_until_the_payload_reports_completion(lan: dict[str, Any]) -> None:
    rig = Rig(signals=True, completes_s=400, **lan)
    outs = rig.move()
    assert rig.states[-3:] == ["await", "let go", "done"]
    assert rig.lan.stopped_at == [400]
    assert outs.completion == "complete"
    assert any(line.startswith("await: the ConfigMap is not there; ") for line in rig.lines)


@pytest.mark.parametrize("lan", [{}, TOOK_IT], ids=["released", "taken-by-the-control-plane"])
def test_without_completion_the_vm_runs_on_and_the_vip_stays(
    lan: dict[str, Any],
) -> None:
    rig = Rig(signals=True, completes_s=NEVER, **lan)
    error = str(rig.fails())
    assert f"at await: the ConfigMap is not there, after {SPEC.deadline_s:g} s" in error
    assert "the VIP was left where it is, and the VM runs on" in error
    assert "hold" not in rig.lan.sent
    assert rig.lan.vip_macs() == (TAKEN,)


@pytest.mark.parametrize("site", [{}, {"balancer": "site"}], ids=["cluster", "site"])
def test_a_lone_nodes_bootstrap_ends_only_on_okds_word(site: dict[str, Any]) -> None:
    """Its member is one of two of etcd's: a bootstrap that ends first leaves no majority, and so no cluster."""
    lone = spec_with(nodes={"master-0": FIRST}, min_ready=1, **site)
    rig = Rig(lone)
    error = rig.fails()
    assert str(error) == (
        f"{lone.where}: at gate: no kubeconfig beside the payload, and only OKD itself knows when the bootstrap may "
        "end; VIP and VM are untouched. Fix: put auth/kubeconfig of the payload's own run into stacks/prod/payload"
    )
    assert (rig.at("refused"), rig.lan.sent) == (0, [])


def test_a_lone_node_takes_over_once_okd_is_done() -> None:
    rig = Rig(spec_with(nodes={"master-1": SECOND}, min_ready=1), signals=True, completes_s=400, macs=[(0, TAKEN)])
    assert rig.move().completion == "complete"
    assert rig.states == ["gate", "watch", "await", "let go", "done"]
    assert rig.lan.stopped_at == [400]


def test_the_vm_runs_on_while_the_vip_is_away_from_the_control_plane() -> None:
    rig = Rig(signals=True, macs=[(0, TAKEN), (60, HELD)], completes_s=70)
    assert f"at await: answered by okd-bootstrap ({BOOTSTRAP})" in str(rig.fails())
    assert rig.lan.sent == ["status"]


@pytest.mark.parametrize(
    ("macs", "holders"),
    [
        pytest.param(
            [(0, HELD), (36, frozenset()), (38, TAKEN)], ["okd-bootstrap", "nobody", "master-1"], id="nobody"
        ),
        pytest.param(
            [(0, HELD), (36, HELD | TAKEN), (38, TAKEN)], ["okd-bootstrap", "no one machine", "master-1"], id="two"
        ),
    ],
)
def test_the_holders_of_the_vip_are_listed_in_order(
    macs: list[tuple[float, frozenset[str]]], holders: list[str]
) -> None:
    outs = Rig(macs=macs, moves_s=NEVER).move()
    wanted = zip(holders, (0, 36, 38), strict=True)
    assert outs.holders == [{"holder": holder, "at_s": at_s} for holder, at_s in wanted]


def test_progress_is_one_line_per_state_with_a_heartbeat() -> None:
    rig = Rig(spec_with(stable_s=100))
    rig.move()
    gate = [line for line in rig.lines if line.startswith("gate")]
    assert 15 <= len(gate) <= 25
    assert "gate: as wanted; steady for 100 s more; at most 600 s left" in gate


@pytest.mark.parametrize(("min_ready", "ready"), [(3, 2), (2, 1)])
def test_the_gate_counts_ready_nodes(min_ready: int, ready: int) -> None:
    down = [(address, 0, 100) for address in list(NODES.values())[ready:]]
    rig = Rig(spec_with(min_ready=min_ready), outages=down)
    rig.move()
    assert rig.at("release") == 100 + SPEC.stable_s


def test_the_ready_nodes_may_change_during_the_gate() -> None:
    rig = Rig(spec_with(min_ready=2), outages=[(FIRST, 0, 15), (SECOND, 15, NEVER)])
    rig.move()
    assert rig.at("release") == SPEC.stable_s


class TestReach:
    """The change from the phase in the state to the wanted one."""

    def test_phase_bootstrap_proves_its_holder(self) -> None:
        outs = Rig(phase("bootstrap")).engine.reach(Phase.BOOTSTRAP, VipHandoffOuts(gap_ms=99))
        assert (outs.holder, outs.gap_ms) == ("okd-bootstrap", None)

    def test_the_change_to_production_moves_the_vip(self) -> None:
        rig = Rig(phase("production"))
        outs = rig.engine.reach(Phase.BOOTSTRAP, VipHandoffOuts(holder="okd-bootstrap"))
        assert (outs.holder, outs.gap_ms) == ("master-1", 31)
        assert rig.states[-1] == "done"
        assert rig.lan.stopped_at

    def test_production_proves_its_holder_and_keeps_the_outputs_of_the_move(self) -> None:
        moved = VipHandoffOuts(
            holder="master-0",
            mac="an old one",
            macs=["an old one"],
            unproven="not seen",
            completion="complete",
            gap_ms=31,
            gap_at_s=33.5,
            probes_sent=500,
            probes_failed=1,
            seconds={"gate": 30},
            timeline=[{"state": "gate", "at_s": 0}],
            holders=[{"holder": "okd-bootstrap", "at_s": 0}],
            clients={"connects_tried": 450},
        )
        rig = Rig(phase("production"), **TOOK_IT)
        outs = rig.engine.reach(Phase.PRODUCTION, moved)
        now = {"holder": "master-1", "mac": MACS[SECOND], "macs": [MACS[SECOND]], "unproven": None}
        assert outs.model_dump() == {**moved.model_dump(), **now}
        assert rig.lan.order == [], "nothing is sent, measured or stopped"


def phase(name: str) -> VipHandoffSpec:
    return spec_with(phase=name)


TWO = spec_with(vips=[VIP, VIP6])


def test_two_vips_move_together() -> None:
    rig = Rig(TWO, second_macs=[(0, HELD), (36, TAKEN)])
    assert rig.move().holder == "master-1"
    assert (rig.at("release"), rig.at("soak")) == (30, 36)


@pytest.mark.parametrize(
    ("second", "state", "problem"),
    [
        pytest.param([(0, HELD)], "release", f"{VIP} by master-1 ({MACS[SECOND]}), {VIP6} by okd-", id="one-stays"),
        pytest.param([(0, HELD), (36, TAKEN), (40, frozenset())], "soak", f"{VIP6} by nobody", id="one-lost"),
    ],
)
def test_either_both_vips_move_or_neither(
    second: list[tuple[float, frozenset[str]]], state: str, problem: str
) -> None:
    rig = Rig(TWO, second_macs=[*second, (122, HELD)])
    error = str(rig.fails())
    assert f"at {state}: answered: " in error
    assert problem in error
    assert rig.lan.sent[-1] == "hold"
    assert "the VIP is on the bootstrap again" in error


def test_the_soak_wants_the_api_ready_through_both_vips() -> None:
    rig = Rig(TWO, second_macs=[(0, HELD)], outages=[(VIP6, 0, 7)])
    assert rig.engine.prove_bootstrap().holder == "okd-bootstrap"
    assert rig.lan.second == 7


def test_two_vips_are_served_when_a_config_server_answers_both() -> None:
    rig = Rig(TWO, second_macs=[(0, HELD)], outages=[(f"config {VIP6}", 0, 7)])
    assert rig.engine.prove_bootstrap().holder == "okd-bootstrap"
    assert rig.lan.second == 7
