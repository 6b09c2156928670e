"""The end of OKD's installation, by its own report."""

from dataclasses import dataclass, field
from typing import Any

import pytest

from base.errors import IncompleteError
from providers.okd_installed.engine import ROUTER_CA, OkdInstalledEngine
from testing.fakes.clock import FakeClock
from testing.progress import into
from wires.api.resources import OPERATORS, VERSION, R

VIP = "192.0.2.5"
READY = {"Available": "True", "Degraded": "False", "Progressing": "False"}
DONE = {"Available": "True", "Failing": "False", "Progressing": "False"}


def status(conditions: dict[str, str], messages: dict[str, str] | None = None) -> dict[str, Any]:
    listed = [
        {"type": kind, "status": value, "message": (messages or {}).get(kind, "")}
        for kind, value in conditions.items()
    ]
    return {"conditions": listed, "desired": {"version": "4.21.0"}}


def operator(name: str, messages: dict[str, str] | None = None, **changes: str) -> dict[str, Any]:
    return {"metadata": {"name": name}, "status": status({**READY, **changes}, messages)}


@dataclass
class Rig:
    """A cluster whose report changes at given seconds; it implements `KubernetesReader`."""

    reports: list[tuple[float, dict[str, Any] | OSError, list[dict[str, Any]] | None]]
    """From which second on: the version's status, or the API's failure; and the operators, if there is their kind."""
    clock: FakeClock = field(default_factory=lambda: FakeClock(0))
    lines: list[str] = field(default_factory=list)
    log: list[str] = field(default_factory=list)

    def get(self, address: str, path: str, model: type[R]) -> R | None:
        assert address == VIP
        _, version, operators = [report for report in self.reports if report[0] <= self.clock.now()][-1]
        if isinstance(version, OSError):
            raise version
        answers: dict[str, Any] = {
            VERSION: version and {"status": version},
            OPERATORS: operators is not None and {"items": operators},
            ROUTER_CA: {"data": {"ca-bundle.crt": "PEM"}},
        }
        return model.model_validate(answers[path]) if answers[path] else None

    def prove(self, deadline_s: float = 100) -> tuple[str | None, list[str]]:
        engine = OkdInstalledEngine(self, VIP, self.clock, into(self.lines), self.log.append)
        outs = engine.prove(deadline_s=deadline_s)
        return outs.version, outs.operators

    def error(self, deadline_s: float = 100) -> str:
        with pytest.raises(IncompleteError) as caught:
            self.prove(deadline_s)
        return str(caught.value)


WORKING = "Working towards 4.21.0: 912 of 930 done (98% complete)"
BOTH = [operator("dns"), operator("console")]
ROUTE = {"Available": "RouteHealthAvailable: 503"}


def test_an_installation_is_complete_when_it_has_been_so_for_half_a_minute() -> None:
    rig = Rig([(0, status(DONE), BOTH)])
    assert rig.prove() == ("4.21.0", ["console", "dns"])
    assert rig.clock.now() == 30
    assert rig.log == ["dns is ready", "console is ready"]


def test_each_operator_that_becomes_ready_or_ceases_to_be_is_a_line() -> None:
    late = operator("console", ROUTE, Available="False")
    rig = Rig(
        [
            (0, status({**DONE, "Available": "False"}), [operator("dns"), late]),
            (20, status(DONE), BOTH),
            (40, status(DONE), [operator("dns", {"Progressing": "x\ny"}, Progressing="True"), operator("console")]),
            (50, status(DONE), BOTH),
        ]
    )
    assert rig.prove() == ("4.21.0", ["console", "dns"])
    assert rig.clock.now() == 80, "the half minute begins again"
    assert rig.log == [
        "dns is ready",
        "console is ready",
        "dns is no longer ready: Progressing: x\\ny",
        "dns is ready",
    ]
    assert rig.lines[0] == (
        "waiting for the installation: the version is not Available; 1 of 2 operators are ready; "
        "console is not Available: RouteHealthAvailable: 503; at most 100 s left"
    )
    assert rig.lines[-1] == (
        "waiting for the installation: the version is complete, and none of 2 operators progresses; "
        "as wanted; steady for 30 s more; at most 50 s left"
    )


def test_the_error_names_unready_operators_with_their_messages() -> None:
    operators = [
        operator("dns"),
        operator("console", ROUTE, Available="False"),
        operator("authentication", {"Degraded": "OAuthServerDeploymentDegraded: 1 of 3"}, Degraded="True"),
        {"metadata": {"name": "image-registry"}},
        operator("etcd", Progressing="True"),
    ]
    assert Rig([(0, status({**DONE, "Available": "False"}), operators)]).error() == (
        "OKD: the version is not Available, after 100 s; 4 of 5 operators are not ready\n"
        "    authentication: Degraded: OAuthServerDeploymentDegraded: 1 of 3\n"
        "    console: not Available: RouteHealthAvailable: 503\n"
        "    etcd: Progressing\n"
        "    image-registry: not Available yet. "
        "Fix: see `oc get clusteroperators`, then run `pulumi up` again"
    )


@pytest.mark.parametrize(
    ("version", "problem"),
    [
        pytest.param(
            status({**DONE, "Failing": "True"}, {"Failing": "no space"}),
            "the version is not complete: no space",
            id="failing",
        ),
        pytest.param(
            status({**DONE, "Failing": "True"}), "the version is not complete: Failing", id="failing-without-a-word"
        ),
        pytest.param(status({**DONE, "Progressing": "True"}), "the version is Progressing", id="progressing"),
        pytest.param(status({"Failing": "False"}), "the version is not Available yet", id="says-nothing"),
        pytest.param(
            status({"Available": "True", "Progressing": "False"}),
            "the version is yet to report Failing",
            id="version-without-failing",
        ),
        pytest.param(
            status({"Available": "True", "Failing": "False"}),
            "the version is yet to report Progressing",
            id="version-without-progressing",
        ),
        pytest.param(
            status({"Available": "False", "Failing": "False", "Progressing": "True"}, {"Progressing": WORKING}),
            WORKING,
            id="working-towards",
        ),
        pytest.param(
            status({**DONE, "Failing": "True", "Progressing": "True"}, {"Failing": "x", "Progressing": WORKING}),
            "the version is not complete: x",
            id="failing-before-its-progress",
        ),
        pytest.param({}, "OKD has no version yet", id="none"),
        pytest.param(
            ConnectionRefusedError("no"),
            f"OKD cannot be asked through {VIP}: no",
            id="unreachable",
        ),
    ],
)
def test_a_version_that_is_not_complete_is_the_reason(version: dict[str, Any] | OSError, problem: str) -> None:
    error = Rig([(0, version, BOTH)]).error()
    see = "see `oc describe clusterversion version`, then run `pulumi up` again"
    assert error == f"OKD: {problem}, after 100 s. Fix: {see}"


def test_a_version_before_the_kind_of_its_operators_is_awaited() -> None:
    rig = Rig([(0, status(DONE), None), (10, status(DONE), BOTH)])
    assert rig.prove() == ("4.21.0", ["console", "dns"])
    assert rig.lines[0].startswith("waiting for the installation: OKD has no version yet")


def test_the_version_s_own_progress_is_shown_before_the_operators() -> None:
    version = status({"Available": "False", "Failing": "False", "Progressing": "True"}, {"Progressing": WORKING})
    rig = Rig([(0, version, [operator("dns"), operator("console", Available="False")]), (10, status(DONE), BOTH)])
    rig.prove()
    assert rig.lines[0] == (
        f"waiting for the installation: {WORKING}; 1 of 2 operators are ready; console is not Available; "
        "at most 100 s left"
    )


@pytest.mark.parametrize("trait", [{"Degraded": "True"}, {"Degraded": "Unknown"}, {"Available": "False"}])
def test_with_a_complete_version_an_operator_that_is_not_well_is_a_line(trait: dict[str, str]) -> None:
    rig = Rig([(0, status(DONE), [operator("dns"), operator("console", None, **trait)])])
    assert rig.prove() == ("4.21.0", ["console", "dns"])
    assert rig.log[-1].startswith("the installation is complete, but console is ")


@pytest.mark.parametrize(
    "conditions", [{"Available": "True", "Degraded": "False"}, {**READY, "Progressing": "Unknown"}]
)
def test_an_operator_that_does_not_say_that_it_has_settled_is_awaited(conditions: dict[str, str]) -> None:
    silent = {"metadata": {"name": "console"}, "status": status(conditions)}
    error = Rig([(0, status(DONE), [operator("dns"), silent])]).error()
    head = "OKD: the version is complete, after 100 s; 1 of 2 operators are not ready"
    assert error.startswith(f"{head}\n    console: ")


def test_the_routers_ca_is_that_of_the_config_map() -> None:
    """As openshift-install's addRouterCAToClusterCA reads it."""
    rig = Rig([(0, status(DONE), BOTH), (50, ConnectionRefusedError("no"), [])])
    engine = OkdInstalledEngine(rig, VIP, rig.clock, into(rig.lines), rig.log.append)
    assert engine.router_ca() == "PEM"
    rig.clock.sleep(60)
    assert engine.router_ca() is None


def test_operators_that_are_ready_too_late_are_the_reason() -> None:
    error = Rig([(0, status({**DONE, "Available": "False"}), []), (95, status(DONE), BOTH)]).error()
    assert error.startswith("OKD: the operators were not steady for 30 s, after 100 s")
