"""Watches OKD's installation as `openshift-install wait-for install-complete` does: the version, then the operators.

Source: openshift/installer 5f2b0d3dc3, cmd/openshift-install/command/waitfor.go. It counts the half minute from the
cluster's timestamps; this module counts its own, because the two clocks may differ.
"""

from collections.abc import Callable
from dataclasses import dataclass, field

from base.clock import Clock, Wait
from base.errors import IncompleteError, one_line
from base.progress import Report, Say, with_time_left
from base.spec import Model
from providers.okd_installed.model import OkdInstalledOuts
from wires.api.resources import (
    OPERATORS,
    VERSION,
    ConfigMap,
    KubernetesReader,
    Metadata,
    Status,
    polled_fix,
    unasked,
)

POLL_S = 5.0
ROUTER_CA = "/api/v1/namespaces/openshift-config-managed/configmaps/default-ingress-cert"
STEADY_S = 30.0  # openshift-install wants operators that have not progressed for as long
VERSION_READY = {"Available": "True", "Failing": "False", "Progressing": "False"}
OPERATOR_READY = {"Available": "True", "Degraded": "False", "Progressing": "False"}
OPERATOR_STEADY = {"Progressing": "False"}
SHOWN = 3
"""Operators in a line of progress."""


class _Release(Model):
    version: str = ""


class _Status(Status):
    desired: _Release = _Release()

    def unfinished(self) -> str | None:
        """Return what a version that is not complete says of itself: its failure, or its progress. None: complete.

        `Failing` is no alarm: from 15 s on it names the operators that are not available (measured with
        openshift/cluster-version-operator 6e719331f).
        """
        problem = self.problem(VERSION_READY)
        failing, progressing = self.condition("Failing"), self.condition("Progressing")
        if problem and failing and failing.status == "True":
            return f"the version is not complete: {one_line(failing.message or 'Failing')}"
        if problem and progressing and progressing.status == "True" and progressing.message:
            return one_line(progressing.message)
        return problem and f"the version is {problem}"


class _Operator(Model):
    metadata: Metadata
    status: _Status = _Status()


class _Operators(Model):
    items: tuple[_Operator, ...] = ()


class _Version(Model):
    status: _Status = _Status()


@dataclass
class OkdInstalledEngine:
    """The installation of one cluster."""

    api: KubernetesReader
    vip: str
    """Address of the API."""
    clock: Clock
    report: Report
    log: Say
    """Takes a line for each operator that becomes ready, or ceases to be."""
    _operators: dict[str, str | None] = field(default_factory=dict)
    """What each operator lacks; None: it is ready. With a complete version, only what still progresses counts."""
    _progressing: tuple[str, ...] = ()
    """The operators that have not ceased to progress."""
    _release: str = ""
    _lacks: str | None = None
    """What the installation lacked at the last poll."""
    _silence: OSError | None = None
    """Why the last poll read nothing."""

    def prove(self, *, deadline_s: float) -> OkdInstalledOuts:
        """Wait until the installation is complete, and nothing has changed for `STEADY_S`.

        Raises:
            IncompleteError: It was not after `deadline_s` seconds; the error names each operator that is not ready.
        """
        wait = Wait(self.clock, deadline_s, STEADY_S, POLL_S)
        if wait.until(self._check, self._reporter()):
            raise self._late(deadline_s)
        for name, problem in self._unready().items():
            self.log(f"the installation is complete, but {name} is {problem}")
        return OkdInstalledOuts(version=self._release, operators=sorted(self._operators))

    def router_ca(self) -> str | None:
        """Return the PEM of the CA that signs the routers' certificates. None: OKD does not publish it."""
        try:
            found = self.api.get(self.vip, ROUTER_CA, ConfigMap)
        except OSError:
            return None
        return found.data.get("ca-bundle.crt") if found else None

    def _reporter(self) -> Callable[[str, float], None]:
        report = with_time_left(self.report, "waiting for the installation")
        steady = "the version is complete, and none of {} operators progresses; {}".format
        return lambda line, left_s: report(line if self._lacks else steady(len(self._operators), line), left_s)

    def _check(self) -> str | None:
        self._lacks = self._problem()
        return self._lacks

    def _problem(self) -> str | None:
        """Return what the installation lacks. None: it is complete."""
        self._silence = None
        try:
            version = self.api.get(self.vip, VERSION, _Version)
            operators = self.api.get(self.vip, OPERATORS, _Operators)
        except OSError as error:
            self._silence = error
            return unasked(self.vip, error, who="OKD")
        if version is None or operators is None:
            return "OKD has no version yet"
        self._release = version.status.desired.version
        self._compare(
            {operator.metadata.name: operator.status.problem(OPERATOR_READY) for operator in operators.items}
        )
        self._progressing = tuple(
            sorted(each.metadata.name for each in operators.items if each.status.problem(OPERATOR_STEADY))
        )
        if problem := version.status.unfinished():
            return "; ".join([problem, *self._counted()])
        return f"the version is complete; {self._waiting()}" if self._progressing else None

    def _counted(self) -> list[str]:
        """Return how many operators are ready, and what some lack; nothing if all are."""
        unready = self._unready()
        if not unready:
            return []
        ready = f"{len(self._operators) - len(unready)} of {len(self._operators)} operators are ready"
        return [ready, *(f"{name} is {problem}" for name, problem in [*unready.items()][:SHOWN])]

    def _waiting(self) -> str:
        some = ", ".join(self._progressing[:SHOWN])
        return f"{len(self._progressing)} of {len(self._operators)} operators still progress: {some}"

    def _compare(self, operators: dict[str, str | None]) -> None:
        for name, problem in operators.items():
            was_ready = self._operators.get(name, "new") is None
            if problem is None and not was_ready:
                self.log(f"{name} is ready")
            elif problem and was_ready:
                self.log(f"{name} is no longer ready: {problem}")
        self._operators = operators

    def _unready(self) -> dict[str, str]:
        return {name: problem for name, problem in sorted(self._operators.items()) if problem}

    def _late(self, deadline_s: float) -> IncompleteError:
        unready = self._unready()
        head = (self._lacks or f"the operators were not steady for {STEADY_S:g} s").partition("; ")[0]
        count = f"; {len(unready)} of {len(self._operators)} operators are not ready" if unready else ""
        what = f"{head}, after {deadline_s:g} s{count}"
        details = [f"{name}: {why}" for name, why in unready.items()]
        ask = "oc get clusteroperators" if unready or not self._lacks else "oc describe clusterversion version"
        fix = polled_fix(self._silence, f"see `{ask}`, then run `pulumi up` again")
        return IncompleteError(what, where="OKD", fix=fix, details=details)
