"""Spares in the graph: identified like servers, and never one resource with the server of the same name."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pulumi
import pytest
import yaml

from testing import plans
from testing.checkout import ROOT
from tests.program.graph import Graph, run

FIRST, SECOND = "okd-okd-worker-0", "okd-okd-worker-1"
CONSENT = {name: who for name, who in plans.CONSENT.items() if name != "okd-worker-1"}
Run = Callable[..., Graph]


@pytest.fixture
def with_compute(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Run:
    """Run the program for the rehearsal with other replicas of compute."""

    def of(replicas: int, olds: Graph | None = None, **options: Any) -> Graph:
        config = plans.install_config()
        config["compute"][0]["replicas"] = replicas
        path = tmp_path / plans.INSTALL_CONFIG.relative_to(ROOT)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(yaml.safe_dump(config))
        monkeypatch.chdir(tmp_path)
        return run(olds, **options)

    return of


def installed(graph: Graph) -> set[str]:
    return {name for rollout in graph.of("HostProvisioning") for name in rollout.inputs["hosts"]}


def test_a_spare_is_identified_without_consent_as_early_as_the_servers(with_compute: Run) -> None:
    bootstrap = with_compute(1, consent=CONSENT)
    production = with_compute(1, bootstrap, phase="production", consent=CONSENT)
    for graph in (bootstrap, production):
        assert graph.refused == []
        spare = graph.resources[SECOND]
        assert (spare.inputs["spare"], spare.inputs["consent"], spare.protect) == (True, "", False)
        assert graph.after(spare) == graph.after(graph.resources[FIRST])
        assert SECOND in graph.after(graph.one("NetworkPreflight"))
        assert graph.resources[FIRST].inputs["spare"] is False
    assert installed(production) == {*plans.HOSTS[:4]}
    assert production.one("VipHeld").inputs["nodes"].keys() == {"okd-worker-0"}


def test_more_replicas_take_the_next_spare_as_a_new_server_with_consent(with_compute: Run) -> None:
    before = with_compute(1, with_compute(1, consent=CONSENT), phase="production", consent=CONSENT)
    with pytest.raises(pulumi.RunError, match=r"^config: consent\.okd-worker-1: missing; it names"):
        with_compute(2, before, phase="production", consent=CONSENT)
    after = with_compute(2, before, phase="production")
    assert after.refused == []
    assert installed(after) == {*plans.HOSTS}
    # Another URN: the server is created, and so taken over; the spare is deleted, which asks nobody.
    assert after.resources[SECOND].urn != before.resources[SECOND].urn
    assert after.resources[FIRST].urn == before.resources[FIRST].urn


def test_fewer_replicas_of_compute_delete_a_server_which_is_drained_first(with_compute: Run) -> None:
    production = {"phase": "production", "destroyable": False}
    before = with_compute(2, with_compute(2), **production)
    after = with_compute(1, before, **production)
    server, spare = before.resources[SECOND], after.resources[SECOND]
    assert not server.protect
    assert server.urn not in {each.urn for each in after.resources.values()}
    assert spare.inputs["spare"]
    assert installed(after) == {*plans.HOSTS[:4]}
