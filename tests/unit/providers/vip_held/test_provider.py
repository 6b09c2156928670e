"""A refresh of the Ingress VIP on real kernels in a network of their own."""

from typing import Any

import pytest

from providers.vip_held.provider import VipHeldProvider
from testing.namespaces import in_own_network, needs_root
from testing.scene.answering import answering

pytestmark = needs_root
VIP = "192.0.2.4"
FIRST, SECOND, STRANGER = "52:54:00:00:00:24", "52:54:00:00:00:25", "0a:00:00:00:00:01"
PROPS: dict[str, Any] = {
    "vip": VIP,
    "nodes": {"worker-0": "192.0.2.24", "worker-1": "192.0.2.25"},
    "deadline_s": 60.0,
    "urn": "urn::ingress",
    "holder": "worker-0",
    "macs": [FIRST],
    "unproven": "one was not seen",
}


@pytest.mark.parametrize(
    ("answers", "holder"),
    [
        pytest.param({SECOND: [VIP, "192.0.2.25"]}, "worker-1", id="it-has-moved"),
        pytest.param({FIRST: [VIP, "192.0.2.24"], SECOND: [VIP, "192.0.2.25"]}, None, id="two-answer"),
        pytest.param({STRANGER: [VIP]}, None, id="a-stranger"),
    ],
)
def test_a_refresh_reports_the_current_holder(answers: dict[str, list[str]], holder: str | None) -> None:
    def work() -> Any:
        with answering(answers):
            return VipHeldProvider().read(VIP, PROPS)

    read = in_own_network(work)
    assert (read.id, read.outs) == (VIP, {**PROPS, "holder": holder, "macs": sorted(answers)})


def test_a_refresh_warns_of_a_certificate_of_the_router_that_expires(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = list[tuple[object, ...]]()

    def soon(*where: object) -> str:
        asked.append(where)
        return "expires on 2026-12-27 08:00 UTC, in 30 days"

    monkeypatch.setattr("providers.vip_held.provider.expiry_warning", soon)
    in_own_network(lambda: VipHeldProvider().read(VIP, PROPS))
    assert asked == [(VIP, 443)]
    assert f"VIP {VIP}: the certificate of the router expires on 2026-12-27" in capsys.readouterr().err


def test_a_refresh_without_an_answer_keeps_the_state_with_a_warning(
    capsys: pytest.CaptureFixture[str],
) -> None:
    def work() -> Any:
        with answering({}):
            return VipHeldProvider().read(VIP, PROPS)

    assert in_own_network(work).outs == PROPS
    assert capsys.readouterr().err == f"ingress: VIP {VIP}: no machine answers it now; the recorded holder stays\n"


def test_a_refresh_from_outside_the_segment_keeps_the_state_with_a_warning(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert in_own_network(lambda: VipHeldProvider().read(VIP, PROPS)).outs == PROPS
    assert capsys.readouterr().err.startswith(
        f"ingress: VIP {VIP}: could not be probed; the recorded holder stays: {VIP}: no interface"
    )


def test_a_refresh_warns_of_a_missing_router_behind_the_sites_balancer(
    capsys: pytest.CaptureFixture[str],
) -> None:
    state = {**PROPS, "balancer": "site", "vip": "127.0.0.1", "holder": "the site's balancer", "macs": []}
    assert in_own_network(lambda: VipHeldProvider().read(VIP, state)).outs == state
    assert capsys.readouterr().err == ("ingress: VIP 127.0.0.1: no router serves there now (Connection refused)\n")
