"""Upgrades a cluster: asks what stands in the way, saves etcd, sets the desired update, and follows it to its end.

The cluster-version operator does the work, and goes on without this program. So each run first reads what the cluster
was told: a run after a kill, or after a problem that a person has solved, only follows.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any, TypeVar

from base.clock import Clock, Wait
from base.errors import UpgradeError
from base.progress import Report, with_time_left
from base.spec import Model
from providers.cluster_upgrade.model import ClusterUpgradeOuts, ClusterUpgradeSpec
from providers.cluster_upgrade.obstacles import seen_of, unwell
from providers.cluster_upgrade.release import ClusterVersion
from providers.patience import patiently
from wires.api.resources import (
    OPERATORS,
    VERSION,
    ChangedError,
    KubernetesWriter,
    RefusedError,
    answer_first,
    unasked,
)

T = TypeVar("T")
POLL_S = 10.0
STEADY_S = 30.0
"""As for an installation: what is well for a moment only is no end."""
STUCK_S = 600.0
"""An API that restarts, or an image that is slow to come, ends a moment's failure by itself."""
TRIES = 5
UP = "run `pulumi up` again: it begins nothing twice"
AGAIN = f"then {UP}"
STILL = "OKD goes on trying by itself: see `oc get clusterversion` and `oc get clusteroperators`"


class _Named(Model):
    name: str = ""
    version: str = ""


class _Operator(Model):
    class _Status(Model):
        versions: tuple[_Named, ...] = ()

    status: _Status = _Status()


class _Operators(Model):
    items: tuple[_Operator, ...] = ()


@dataclass
class ClusterUpgradeEngine:
    """The upgrade of one cluster."""

    api: KubernetesWriter
    spec: ClusterUpgradeSpec
    save: Callable[[], object]
    """Saves etcd, where the stack names a store."""
    clock: Clock
    report: Report
    _stuck_since: float | None = None

    def reach(self) -> ClusterUpgradeOuts:
        """Have the cluster run the release, and return once it does and all of it is well.

        Raises:
            UpgradeError: Something stands in the way, or OKD knows the image as that of another version, and nothing
                was begun; or OKD did not get on for `STUCK_S`, or not to the end within the deadline. It keeps what
                it was told.
            SnapshotError: etcd was not saved, and nothing was begun.
        """
        found = self._asked(self._version)
        if what := found.mismatch(self.spec.version, self.spec.image):
            fix = f"write the digest of {self.spec.version}, as `oc adm release info` prints it, {AGAIN}"
            raise UpgradeError(what, where="upgrade.image", fix=fix)
        if not found.is_told(self.spec.image):
            self._refuse_obstacles()
            self.save()
            self._tell()
        step = f"upgrade to {self.spec.version}"
        wait = Wait(self.clock, self.spec.deadline_s, STEADY_S, POLL_S)
        if late := wait.until(self._missing, with_time_left(self.report, step)):
            what = f"not upgraded to {self.spec.version} after {self.spec.deadline_s:g} s: {late}"
            raise UpgradeError(what, where="OKD", fix=f"{STILL}; {AGAIN}")
        return ClusterUpgradeOuts(running=self.spec.version)

    def running(self) -> str:
        """Return the version that the cluster is at, or on its way to.

        Raises:
            UpgradeError: The API cannot be asked.
        """
        try:
            return self._version().status.desired.version
        except OSError as error:
            raise self._unasked(error) from None

    def _version(self) -> ClusterVersion:
        found = self.api.get(self.spec.api_vip, VERSION, ClusterVersion)
        if found is None:
            what = "the cluster has no ClusterVersion, so it is no cluster of OKD"
            raise UpgradeError(what, where="OKD", fix="remove `upgrade` from the stack")
        return found

    def _refuse_obstacles(self) -> None:
        spec = self.spec
        seen = self._asked(lambda: [*seen_of(self.api, spec.api_vip, spec.version, spec.image)])
        if bad := [str(each) for each in seen if not each.is_good]:
            what = f"the upgrade to {self.spec.version} was not begun, since {len(bad)} things stand in its way"
            raise UpgradeError(what, where="OKD", fix=f"have these well first, {AGAIN}", details=bad)

    def _tell(self) -> None:
        """Set the desired update, unless the ClusterVersion has changed since it was asked."""
        for _ in range(TRIES):
            found = self._asked(self._version)
            if found.is_told(self.spec.image):
                return
            self._refuse_obstacles()
            try:
                self._asked(partial(self.api.patch, self.spec.api_vip, VERSION, self._change(found)))
            except ChangedError:
                continue
            except RefusedError as error:
                what = f"not begun: the API refuses the desired update: {error}"
                raise UpgradeError(what, where="OKD", fix=f"change what its reason names, {AGAIN}") from None
            return
        what = f"the ClusterVersion changed {TRIES} times while it was read"
        raise UpgradeError(what, where="OKD", fix=f"find who else changes it, {AGAIN}")

    def _change(self, found: ClusterVersion) -> dict[str, Any]:
        """Return the change. A merge would keep what an earlier desired update had beside version and image."""
        desired = {"version": self.spec.version, "image": self.spec.image}
        cleared = {"force": False, "architecture": None, "mode": None}
        return {
            "metadata": {"resourceVersion": found.metadata.resource_version},
            "spec": {"desiredUpdate": {**desired, **cleared}},
        }

    def _missing(self) -> str | None:
        """Return what the upgrade lacks. None: nothing.

        Raises:
            UpgradeError: OKD has not got on for `STUCK_S`, or somebody has told it something else.
        """
        try:
            found = self.api.get(self.spec.api_vip, VERSION, ClusterVersion) or ClusterVersion()
            if found.has(self.spec.image):
                return self._unwell()
            self._refuse_other(found)
            self._refuse_stuck(found.stuck)
            return f"{found.progress}; {self._counted()}"
        except OSError as error:
            return unasked(self.spec.api_vip, error, who="OKD")

    def _unwell(self) -> str | None:
        bad = [str(each) for each in unwell(self.api, self.spec.api_vip) if not each.is_good]
        return f"the release is applied, but {bad[0]}" if bad else None

    def _refuse_other(self, found: ClusterVersion) -> None:
        if found.is_told(self.spec.image):
            return
        what = f"OKD is not told any more to get {self.spec.version}: somebody has told it otherwise meanwhile"
        raise UpgradeError(what, where="OKD", fix=f"remove `upgrade` from the stack; or, to upgrade it, {UP}")

    def _refuse_stuck(self, why: str | None) -> None:
        now = self.clock.now()
        if why is None:
            self._stuck_since = None
            return
        self._stuck_since = now if self._stuck_since is None else self._stuck_since
        if now - self._stuck_since >= STUCK_S:
            what = f"the upgrade to {self.spec.version} has not got on for {STUCK_S:g} s: {why}"
            raise UpgradeError(what, where="OKD", fix=f"solve that; {STILL}; {AGAIN}")

    def _counted(self) -> str:
        """Return how many operators have the version, by their own report."""
        listed = (self.api.get(self.spec.api_vip, OPERATORS, _Operators) or _Operators()).items
        own = ("operator", self.spec.version)
        there = sum(own in {(each.name, each.version) for each in it.status.versions} for it in listed)
        return f"{there} of {len(listed)} operators have it"

    def _asked(self, ask: Callable[[], T]) -> T:
        try:
            return patiently(ask, self.clock, self.report)
        except (ChangedError, RefusedError):
            raise
        except OSError as error:
            raise self._unasked(error) from None

    def _unasked(self, error: OSError) -> UpgradeError:
        what = unasked(self.spec.api_vip, error, who="OKD")
        return UpgradeError(what, where="OKD", fix=f"{answer_first(error)}, {AGAIN}")
