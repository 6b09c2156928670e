"""ServerObjects as a resource: it asks through the VIP with the payload's kubeconfig, and deletes nothing."""

from pathlib import Path
from typing import Any

import pytest

from base.errors import PayloadError
from providers.pulumi.dynamic import inputs_of
from providers.server_objects import provider as module
from providers.server_objects.model import ServerObjectsSpec
from providers.server_objects.provider import ServerObjectsProvider
from testing import clusters
from testing.kubeconfigs import write_kubeconfig

SPEC = ServerObjectsSpec.of(clusters.plan("baremetal"), "prod").changed(urn="urn::objects")
PROPS: dict[str, Any] = {**inputs_of(SPEC)}
WORKER = ("BareMetalHost/okd-worker-1", "Machine/okd-worker-1")


class Engine:
    """An engine that records what it is asked for."""

    made: list[tuple[Any, ...]] = []
    drifts: list[str] | OSError = []

    def __init__(self, _api: object, spec: ServerObjectsSpec, *_: object) -> None:
        self.spec = spec

    def ensure(self, gone: list[str], *, deadline_s: float) -> None:
        self.made.append((self.spec.api_name, sorted(gone), deadline_s))

    def drift(self) -> list[str]:
        if isinstance(self.drifts, OSError):
            raise self.drifts
        return self.drifts


@pytest.fixture
def engine(payload: Path, monkeypatch: pytest.MonkeyPatch) -> type[Engine]:
    write_kubeconfig(payload)
    own = type("Own", (Engine,), {"made": []})
    monkeypatch.setattr(module, "ServerObjectsEngine", own)
    return own


def refreshed(drift: list[str]) -> tuple[Any, Any]:
    """Refresh a resource with this drift in its state; return that of its outputs and of its inputs."""
    read = ServerObjectsProvider().read("x", {**PROPS, "drift": drift})
    return (read.outs or {}).get("drift"), (read.inputs or {}).get("drift")


def test_an_update_names_the_objects_of_servers_that_left(engine: type[Engine]) -> None:
    ServerObjectsProvider().create(PROPS)
    new = {**PROPS, "objects": {name: own for name, own in SPEC.objects.items() if name not in WORKER}}
    ServerObjectsProvider().update("x", PROPS, new)
    assert engine.made == [("api.okd.lab.test", [], 3600), ("api.okd.lab.test", sorted(WORKER), 3600)]


def test_a_deletion_leaves_the_objects(engine: type[Engine]) -> None:
    """OKD would drain and delete the nodes of a cluster that `destroy` may never get to."""
    ServerObjectsProvider().delete("x", PROPS)
    assert engine.made == []


def test_a_refresh_has_the_next_run_repair_what_drifted(
    engine: type[Engine], capsys: pytest.CaptureFixture[str]
) -> None:
    engine.drifts = ["Machine/okd-worker-0: missing"]
    assert refreshed([]) == (engine.drifts, engine.drifts)
    assert capsys.readouterr().err == "objects: Machine/okd-worker-0: missing\n"
    engine.drifts = []
    assert refreshed([]) == ([], None)


def test_a_refresh_without_an_answer_keeps_the_state_with_a_warning(
    engine: type[Engine], capsys: pytest.CaptureFixture[str]
) -> None:
    engine.drifts = ConnectionRefusedError("no")
    assert refreshed(["before"]) == (["before"], ["before"])
    line = "objects: no object was compared, since the API at 192.168.111.5 was not asked: "
    assert capsys.readouterr().err == f"{line}no\n"


def test_a_refresh_without_the_kubeconfig_keeps_the_state_with_a_warning(
    payload: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert refreshed(["before"]) == (["before"], ["before"])
    assert "auth/kubeconfig: missing" in capsys.readouterr().err


def test_it_cannot_ask_without_the_kubeconfig(payload: Path) -> None:
    with pytest.raises(PayloadError, match="auth/kubeconfig: missing, but `wait: install` asks OKD with it"):
        ServerObjectsProvider().create(PROPS)
