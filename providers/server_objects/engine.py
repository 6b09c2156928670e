"""Makes the objects of servers, and waits until each Machine is linked to its node.

Every poll reads all of them and writes what is missing, so a run that was killed continues. Nothing is written while
metal3 may touch a server by one of them.
"""

from collections.abc import Collection
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from pydantic import Field

from base.clock import Clock, Wait
from base.errors import ConfigError, Fault, IncompleteError, words_of
from base.progress import Report, Say, with_time_left
from base.shown import few
from base.spec import Model
from providers.etcd.health import listed_members
from providers.server_objects.comparison import differences, kept, refusals, unlinked
from providers.server_objects.model import ServerObjectsSpec
from providers.server_objects.objects import CLUSTER_LABEL, COLLECTIONS, HOST, MACHINE, PAUSED, PROVISIONING, path_of
from wires.api.resources import INFRASTRUCTURE, KubernetesKeeper, Objects, RefusedError, polled_fix

POLL_S = 5.0

Found = dict[str, dict[str, Any]]
"""The objects of the cluster, by kind and name."""


class _Status(Model):
    name: str = Field("", alias="infrastructureName")


class _Infrastructure(Model):
    status: _Status = _Status()


@dataclass
class ServerObjectsEngine:
    """The objects of one cluster's servers."""

    api: KubernetesKeeper
    spec: ServerObjectsSpec
    clock: Clock
    report: Report
    warn: Say
    _concerned_etcd: bool = field(default=False, init=False)
    """Whether this run has written an object of a server with a copy of etcd: all are members in the end."""
    _refused: OSError | None = field(default=None, init=False)
    """The error of the API that ended the last step."""

    def ensure(self, gone: Collection[str], *, deadline_s: float) -> None:
        """Make, repair and delete objects until all are as wanted, and every Machine runs as its node.

        Args:
            gone: Kind and name of objects of servers that left the cluster.
            deadline_s: Seconds until which that has to be so.

        Raises:
            ConfigError: metal3 may touch a server, by an object that is there or a rule that refuses this one.
            IncompleteError: Not all was as wanted in time.
        """
        wait = Wait(self.clock, deadline_s, poll_s=POLL_S)
        if late := wait.until(lambda: self._step(gone), with_time_left(self.report, "linking the servers")):
            seen = "see `oc get baremetalhosts,machines -n openshift-machine-api`"
            fix = f"{seen} and docs/explanation/servers.md#objects-of-servers, then run `pulumi up` again"
            what, fix = f"{late}, after {deadline_s:g} s", polled_fix(self._refused, fix)
            raise IncompleteError(what, where="objects of the servers", fix=fix)

    def drift(self) -> list[str]:
        """Return a line for each object that is not as wanted.

        Raises:
            OSError: The API does not answer.
        """
        found = self._found()
        self._warn_of_kept(found)
        return [f"{name}: {what}" for name in self.spec.in_order for what in self._wrong(name, found)]

    def _step(self, gone: Collection[str]) -> str | None:
        """Write what is not as wanted, and return what is still missing. None: nothing."""
        self._refused = None
        try:
            found = self._found()
            if faults := [*refusals(self.spec.in_order, gone, found)]:
                raise ConfigError(*faults)
            # Those read before the writes: whatever was written is missing among them, so it is read once more.
            if late := self._write(found, gone) or self._missing(found, gone):
                return late
            if self._concerned_etcd and (outside := self._out_of_etcd()):
                return outside
            self._warn_of_kept(found)
        except OSError as error:
            self._refused = error
            return f"{self.spec.api_vip}: {words_of(error)}"
        return None

    def _found(self) -> Found:
        found: Found = {}
        for kind, path in COLLECTIONS.items():
            listed = self.api.get(self.spec.api_vip, path, Objects)
            if listed is None:
                raise ConnectionError(f"the API has no {path.rpartition('/')[2]}")
            found |= {f"{kind}/{item['metadata']['name']}": item for item in listed.items}
        return found

    def _wrong(self, name: str, found: Found) -> list[str]:
        """Return what an object lacks; an empty list if it is as wanted."""
        if name not in found:
            return ["missing"]
        problem = unlinked(name, found[name])
        return [*differences(self.spec.objects[name], found[name]), *([problem] if problem else [])]

    def _warn_of_kept(self, found: Found) -> None:
        for name in (own for own in self.spec.in_order if own in found):
            for what in kept(self.spec.objects[name], found[name]):
                self.warn(f"{name}: {what}")

    def _write(self, found: Found, gone: Collection[str]) -> str | None:
        """Make and repair objects in their order, then delete; return why nothing may be written yet."""
        objects = self.spec.objects
        wrong = [name for name in self.spec.in_order if name not in found or differences(objects[name], found[name])]
        if any(map(self._concerns_etcd, wrong)):
            if not self._admits_by_machine(found) and (outside := self._out_of_etcd()):
                return outside
            self._concerned_etcd = True
        for name in wrong:
            try:
                self._make(name) if name not in found else self._repair(name, found[name])
            except RefusedError as error:
                fix = "see which rule or web hook of the cluster refuses it, and run `pulumi up` again"
                raise ConfigError(Fault(name, f"the API refuses it: {error}", fix)) from None
        for name in sorted({*gone} & found.keys()):
            kind, _, own = name.partition("/")
            may_go = kind == MACHINE or f"{MACHINE}/{own}" not in found  # a Machine goes once its node is drained
            if may_go and "deletionTimestamp" not in found[name]["metadata"]:
                self.api.delete(self.spec.api_vip, path_of(name))
        return None

    def _concerns_etcd(self, name: str) -> bool:
        """Whether an object links servers with a copy of etcd: the Provisioning object links all at once."""
        kind, _, own = name.partition("/")
        return kind == PROVISIONING or own in self.spec.holders_of_etcd

    def _admits_by_machine(self, found: Found) -> bool:
        """Whether the etcd operator admits only nodes that have a Machine: once one of the control plane runs.

        Source: pkg/operator/clustermembercontroller of openshift/cluster-etcd-operator, b4786ae33.
        """
        holders = (found.get(f"{MACHINE}/{name}", {}) for name in self.spec.holders_of_etcd)
        return any(each.get("status", {}).get("phase") == "Running" for each in holders)

    def _out_of_etcd(self) -> str | None:
        """Return the servers that should hold a copy of etcd, and are no members."""
        listed = listed_members(self.api, self.spec.api_vip) or frozenset()
        outside = [name for name, addresses in self.spec.holders_of_etcd.items() if not listed & {*addresses}]
        return f"not in etcd yet: {', '.join(few(outside))}" if outside else None

    @cached_property
    def _infrastructure_name(self) -> str:
        """The name that every Machine of the cluster has as a label; it never changes."""
        own = self.api.get(self.spec.api_vip, INFRASTRUCTURE, _Infrastructure)
        if not own or not own.status.name:
            raise ConnectionError("the cluster's infrastructure has no name")
        return own.status.name

    def _make(self, name: str) -> None:
        manifest = self.spec.objects[name]
        if manifest["kind"] == MACHINE:
            metadata = manifest["metadata"]
            labels = {**metadata["labels"], CLUSTER_LABEL: self._infrastructure_name}
            manifest = {**manifest, "metadata": {**metadata, "labels": labels}}
        self.api.create(self.spec.api_vip, path_of(name), manifest)

    def _repair(self, name: str, found: dict[str, Any]) -> None:
        """Merge the manifest into exactly the object that was read, without what it was only made with."""
        wanted = self.spec.objects[name]
        read = {key: found["metadata"][key] for key in ("uid", "resourceVersion")}
        annotations = dict(wanted["metadata"].get("annotations", {}))
        if paused := PAUSED.get(wanted["kind"]):
            annotations[paused] = None
        change: dict[str, Any] = {"metadata": {**read, "annotations": annotations}}
        change["metadata"]["labels"] = wanted["metadata"].get("labels", {})
        if wanted["kind"] == HOST:
            change["spec"] = {key: wanted["spec"][key] for key in ("online", "consumerRef")}
        self.api.patch(self.spec.api_vip, path_of(name), change)

    def _missing(self, found: Found, gone: Collection[str]) -> str | None:
        wrong = [(name, what) for name in self.spec.in_order for what in self._wrong(name, found)]
        wrong += [(name, "not deleted yet") for name in gone if name in found]
        lines = [f"{name}: {what}" for name, what in wrong[:3]]
        return "; ".join([f"{len(wrong)} left", *lines]) if lines else None
