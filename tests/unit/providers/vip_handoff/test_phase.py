"""The phase goes one way: the changes that a preview refuses, by the inputs and the state alone."""

from typing import Any

import pulumi
import pytest

from providers.vip_handoff.provider import VipHandoffProvider
from testing.refusals import refusals

BACK = "a cluster in production cannot go back to bootstrap"
EMPTY = "the stack is empty"
UNKNOWN = pulumi.output.UNKNOWN
SPEC: dict[str, Any] = {
    "vips": ["192.0.2.5"],
    "domain": "okd.lab.test",
    "bootstrap_name": "okd-bootstrap",
    "bootstrap_mac": "52:54:00:00:00:20",
    "nodes": {"m0": "192.0.2.21"},
    "min_ready": 1.0,
    "libvirt_uri": "qemu:///system",
    "stack": "test",
    "payload_sha256": "ab",
    "stable_s": 1.0,
    "soak_s": 1.0,
    "deadline_s": 1.0,
    "bootstrap_s": 1.0,
    "shutdown_s": 1.0,
}


@pytest.mark.parametrize(("before", "after"), [(False, True), (True, False)], ids=["added", "removed"])
def test_a_control_plane_neither_begins_nor_ceases_to_fence_itself(before: bool, after: bool) -> None:
    olds, news = {**SPEC, "phase": "production", "fenced": before}, {**SPEC, "phase": "production", "fenced": after}
    ((_, reason),) = refusals(VipHandoffProvider().check(olds, news))
    assert "but the cluster was installed with " in reason
    assert refusals(VipHandoffProvider().check(olds, olds)) == []


@pytest.mark.parametrize(
    ("olds", "news", "why"),
    [
        pytest.param({}, {"phase": "bootstrap"}, "", id="first-up"),
        pytest.param({"phase": "bootstrap"}, {"phase": "bootstrap"}, "", id="again"),
        pytest.param({"phase": "bootstrap"}, {"phase": "production"}, "", id="the-handoff"),
        pytest.param({"phase": "production"}, {"phase": "production"}, "", id="in-production"),
        pytest.param({"phase": "production"}, {"phase": "bootstrap"}, BACK, id="back"),
        pytest.param(
            {"phase": "production"}, {"phase": "bootstrap", "import_production": True}, BACK, id="back-is-no-import"
        ),
        pytest.param({}, {"phase": "production"}, EMPTY, id="production-first"),
        pytest.param({}, {"phase": "production", "import_production": False}, EMPTY, id="no-import"),
        pytest.param({}, {"phase": "production", "import_production": True}, "", id="import"),
        pytest.param({"__provider": "x"}, {"phase": "production"}, EMPTY, id="a-pickle-is-no-state"),
        pytest.param({}, {"phase": UNKNOWN}, "", id="unknown"),
    ],
)
def test_the_phase_starts_at_bootstrap_and_never_returns(
    olds: dict[str, Any], news: dict[str, Any], why: str
) -> None:
    state = {**SPEC, **olds} if "phase" in olds else olds
    refused = refusals(VipHandoffProvider().check(state, {**SPEC, **news}))
    assert bool(refused) == bool(why)
    if why:
        ((key, reason),) = refused
        assert key == "phase"
        assert why in reason
        assert "\n" not in reason


@pytest.mark.parametrize("phase", ["bootstrap", "production"])
@pytest.mark.parametrize(
    ("old", "new", "refused"),
    [
        pytest.param({}, {"platform": "none"}, "", id="a-state-of-before"),
        pytest.param({}, {"platform": "baremetal"}, "baremetal, but the cluster was installed with none", id="later"),
        pytest.param(
            {"platform": "baremetal"}, {}, "none, but the cluster was installed with baremetal", id="forgotten"
        ),
    ],
)
def test_the_platform_is_fixed_by_the_first_up(
    phase: str, old: dict[str, str], new: dict[str, str], refused: str
) -> None:
    both = {**SPEC, "phase": phase}
    answers = refusals(VipHandoffProvider().check({**both, **old}, {**both, **new}))
    assert [key for key, _ in answers] == (["platform"] if refused else [])
    assert all(reason.startswith(refused) for _, reason in answers)
