"""The handoff with a balancer of the site: the VM ends only when nothing needs it, and nobody is asked to move."""

from collections import Counter
from typing import Any

import pytest

from base.errors import HandoffUnsafeError
from providers.vip_handoff.model import VipHandoffOuts
from testing.fakes.lan import BOOTSTRAP_ADDRESS, NEVER, NODES, VIP, VIP6, spec_with
from testing.handoff_rig import FIRST, Rig

CONFIG = f"config {VIP}"
WHERE = f"the site's balancer {VIP}: "
SITE = spec_with(balancer="site")


def rig(**lan: Any) -> Rig:
    return Rig(SITE, **lan)


def prove(made: Rig) -> VipHandoffOuts:
    return made.engine.prove_bootstrap()


def test_the_vm_ends_when_the_balancer_has_left_it() -> None:
    made = rig()
    outs = made.move()
    assert made.states == ["gate", "await", "soak", "let go", "done"]
    assert (made.at("await"), made.at("soak"), made.at("let go")) == (30.0, 40.0, 60.0)
    assert made.lan.sent == []
    assert made.lan.order == ["client begins", "client ends", "stop"]
    assert [entry["holder"] for entry in outs.holders] == ["okd-bootstrap", "control plane"]
    assert (outs.holder, outs.mac, outs.macs, outs.gap_ms) == ("control plane", None, [], 31)
    assert outs.completion == "not asked: no kubeconfig"


def test_one_slow_answer_during_the_proof_says_nothing_of_who_serves(monkeypatch: pytest.MonkeyPatch) -> None:
    made = rig()
    problem, asked = made.lan.problem, Counter[float]()

    def quick_once(address: str) -> str | None:
        if address == VIP:
            asked[made.lan.second] += 1
        return "timed out" if address == VIP and asked[made.lan.second] > 1 else problem(address)

    monkeypatch.setattr(made.lan, "problem", quick_once)
    assert made.move().holder == "control plane"


def test_the_segment_is_never_probed() -> None:
    assert rig(blind_s=0).move().holder == "control plane"


@pytest.mark.parametrize(
    ("lan", "ports"),
    [
        pytest.param({"ends_s": NEVER, "config_ends_s": NEVER}, "6443 and 22623", id="both"),
        pytest.param({"ends_s": NEVER}, "6443", id="api"),
        pytest.param({"config_ends_s": NEVER}, "22623", id="config"),
    ],
)
def test_a_bootstrap_that_still_serves_runs_on(lan: dict[str, float], ports: str) -> None:
    assert str(rig(**lan).fails()) == (
        f"{WHERE}at await: okd-bootstrap ({BOOTSTRAP_ADDRESS}) still accepts connections on {ports}, "
        "so the balancer may lead to it, after 600 s; VIP and VM are untouched. Fix: "
        "see what `openshift-install wait-for bootstrap-complete` reports, then run `pulumi up` again"
    )


def test_a_balancer_that_still_leads_to_the_bootstrap_keeps_it() -> None:
    made = rig(outages=[(VIP, 40, NEVER)])
    assert str(made.fails()).startswith(
        f"{WHERE}at await: the API is not ready through {VIP} (status 500); okd-bootstrap no longer serves: "
        "does the balancer still lead to it?, after 600 s; VIP and VM are untouched"
    )


def test_a_balancer_that_fails_now_and_then_restarts_the_soak() -> None:
    made = rig(outages=[(VIP, 50, 51)])
    made.move()
    assert made.at("let go") == 51 + 20


@pytest.mark.parametrize("what", [VIP, CONFIG, FIRST, f"config {FIRST}"])
def test_the_gate_waits_for_all_nodes_and_for_the_balancer(what: str) -> None:
    others = [(f"config {address}", 0.0, 25.0) for address in NODES.values() if address != FIRST]
    made = rig(outages=[(what, 0, 25), *others])
    made.move()
    assert made.at("await") == 25 + 30


def test_okd_is_asked_through_the_balancer_before_the_soak() -> None:
    made = Rig(SITE, signals=True, completes_s=100)
    assert made.move().completion == "complete"
    assert made.at("soak") == 100


def test_both_families_are_asked() -> None:
    made = Rig(spec_with(balancer="site", vips=[VIP, VIP6]), outages=[(VIP6, 0, NEVER)])
    assert f"the API is not ready through {VIP6} (status 500)" in str(made.fails())


def test_phase_bootstrap_proves_that_the_balancer_reaches_the_bootstrap() -> None:
    made = rig(outages=[(VIP, 0, 20), (CONFIG, 0, 30)])
    assert prove(made).holder == "okd-bootstrap"
    assert made.at("done") == 30


def test_a_bootstrap_that_the_balancer_does_not_lead_to_is_named() -> None:
    made = rig(outages=[(VIP, 0, NEVER)], ends_s=NEVER)
    with pytest.raises(
        HandoffUnsafeError, match=r"; okd-bootstrap \(192\.0\.2\.20\) itself is ready, after "
    ) as caught:
        prove(made)
    assert "the bootstrap VM must be one of them" in str(caught.value)


def test_a_bootstrap_that_does_not_serve_yet_is_not_called_ready() -> None:
    made = rig(outages=[(VIP, 0, NEVER)], ends_s=0)
    with pytest.raises(
        HandoffUnsafeError, match=r"the API is not ready through 192\.0\.2\.5 \(status 500\), after 300 s; "
    ):
        prove(made)


def test_a_bootstrap_at_another_address_than_the_plans_is_found() -> None:
    """Later, it would look as if it had ended."""
    made = rig(ends_s=0, outages=[(address, 0, NEVER) for address in NODES.values()])
    with pytest.raises(HandoffUnsafeError) as caught:
        prove(made)
    assert str(caught.value).startswith(
        f"{WHERE}at prove: the API answers through the balancer, but neither okd-bootstrap ({BOOTSTRAP_ADDRESS}) "
        "nor a node is ready itself, after 300 s; "
    )


def test_a_node_that_serves_after_the_bootstrap_has_ended_is_enough() -> None:
    made = rig(ends_s=0, outages=[(address, 0, NEVER) for address in NODES.values() if address != FIRST])
    assert prove(made).holder == "control plane"


def test_production_only_proves_answers_through_the_balancer() -> None:
    made = rig(ends_s=0, outages=[(address, 0, NEVER) for address in NODES.values()])
    assert made.engine.prove_control_plane().holder == "control plane"
    assert made.at("done") == 0
