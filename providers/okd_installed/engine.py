"""Watches OKD's installation by what `openshift-install wait-for install-complete` watches: version and operators."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from base.clock import Clock, Wait
from base.errors import IncompleteError, one_line
from base.progress import Report, Say, with_time_left
from base.spec import Model
from providers.okd_installed.model import OkdInstalledOuts
from wires.api.resources import KubernetesReader, Metadata, Status

VERSION = "/apis/config.openshift.io/v1/clusterversions/version"
OPERATORS = "/apis/config.openshift.io/v1/clusteroperators"
POLL_S = 5.0
STEADY_S = 30.0  # openshift-install 4.21 wants operators that have not progressed for as long
VERSION_READY = {"Available": "True", "Failing": "False", "Progressing": "False"}
OPERATOR_READY = {"Available": "True", "Degraded": "False", "Progressing": "False"}
SHOWN = 3
"""Operators in a line of progress."""


class _Release(Model):
    version: str = ""


class _Status(Status):
    desired: _Release = _Release()

    def problem(self, wanted: Mapping[str, str]) -> str | None:
        """Return the first condition that is not as wanted, with its message. None: all are."""
        for kind, status in wanted.items():
            condition = self.condition(kind)
            if condition is None and status == "True":
                return f"not {kind} yet"
            if condition and condition.status != status:
                what = f"not {kind}" if status == "True" else kind
                return one_line(f"{what}: {condition.message}" if condition.message else what)
        return None


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
    """What each operator lacks; None: it is ready."""
    _release: str = ""
    _lacks: str | None = None
    """What the installation lacked at the last poll."""

    def prove(self, *, deadline_s: float) -> OkdInstalledOuts:
        """Wait until the installation is complete, and nothing has changed for `STEADY_S`.

        Raises:
            IncompleteError: It was not after `deadline_s` seconds; the error names each operator that is not ready.
        """
        wait = Wait(self.clock, deadline_s, STEADY_S, POLL_S)
        if wait.until(self._check, self._reporter()):
            raise self._late(deadline_s)
        return OkdInstalledOuts(version=self._release, operators=sorted(self._operators))

    def _reporter(self) -> Callable[[str, float], None]:
        report = with_time_left(self.report, "waiting for the installation")
        ready = "all {} operators are ready; {}".format
        return lambda line, left_s: report(line if self._lacks else ready(len(self._operators), line), left_s)

    def _check(self) -> str | None:
        self._lacks = self._problem()
        return self._lacks

    def _problem(self) -> str | None:
        """Return what the installation lacks. None: it is complete."""
        try:
            version = self.api.get(self.vip, VERSION, _Version)
            operators = self.api.get(self.vip, OPERATORS, _Operators)
        except OSError as error:
            return f"OKD cannot be asked through {self.vip}: {type(error).__name__}: {error}"
        if version is None or operators is None:
            return "OKD has no version yet"
        self._release = version.status.desired.version
        self._compare(
            {operator.metadata.name: operator.status.problem(OPERATOR_READY) for operator in operators.items}
        )
        unready = self._unready()
        if unready:
            ready = len(self._operators) - len(unready)
            some = "; ".join(f"{name} is {problem}" for name, problem in list(unready.items())[:SHOWN])
            return f"{ready} of {len(self._operators)} operators are ready; {some}"
        problem = version.status.problem(VERSION_READY)
        return f"the version is {problem}" if problem else None

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
        head = f"{len(unready)} of {len(self._operators)} operators are not ready" if unready else self._lacks
        lines = "".join(f"\n  {name}: {why}" for name, why in unready.items())
        what = f"{head or f'the operators were not steady for {STEADY_S:g} s'}, after {deadline_s:g} s{lines}"
        return IncompleteError(what, where="OKD", fix="see `oc get clusteroperators`, then run `pulumi up` again")
