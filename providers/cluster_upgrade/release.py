"""What OKD reports of its release: the ClusterVersion, by the types of openshift/api 2a3d73913, config/v1."""

from collections.abc import Mapping

from pydantic import Field

from base.errors import one_line
from base.spec import Model
from wires.api.resources import Condition, Status

COMPLETED = "Completed"
INVALID = {"Invalid": "True"}
"""The condition in which it goes without a field of the spec, as without a desired update that has no image
(lib/validation, ClearInvalidFields)."""
UNEVALUATED = "OKD has not evaluated its risks yet"
REFUSED = {"ReleaseAccepted": "False"}
"""The condition in which it goes on with the release that it has, and tries the desired one again."""
STUCK = {"Failing": "True", **REFUSED, **INVALID}
"""The conditions in which the cluster-version operator does not get on; it tries again for ever.

`Failing` is true for a manifest that cannot be applied, and for an operator that is not Available, or Degraded: of an
upgrade, for 40 minutes (pkg/cvo/status.go of openshift/cluster-version-operator, 6e719331f); `ReleaseAccepted` is
false for an image that cannot be fetched, has no signature that counts, or whose preconditions are not met
(`sync_worker.go` there); `Invalid` is true for a desired update that cannot be, as a version that is none of
`availableUpdates`.
"""


def digest_of(image: str) -> str:
    """Return the digest of an image, which is the same wherever the image is."""
    return image.rpartition("@")[2]


class _Release(Model):
    version: str = ""
    image: str = ""

    def is_of(self, image: str) -> bool:
        """Whether it is the release of an image."""
        return bool(self.image) and digest_of(self.image) == digest_of(image)


class _Entry(_Release):
    state: str = ""


class _Conditional(Status):
    """An update that is recommended to some clusters only."""

    release: _Release


class _Spec(Model):
    desired: _Release | None = Field(None, alias="desiredUpdate")


class _Metadata(Model):
    resource_version: str = Field("", alias="resourceVersion")
    generation: int = 0


class _Status(Status):
    desired: _Release = _Release()
    history: tuple[_Entry, ...] = ()
    """The newest first."""
    observed: int = Field(0, alias="observedGeneration")
    available: tuple[_Release, ...] | None = Field(None, alias="availableUpdates")
    conditional: tuple[_Conditional, ...] = Field((), alias="conditionalUpdates")


class ClusterVersion(Model):
    """The release that a cluster has, and the one that it is to have."""

    metadata: _Metadata = _Metadata()
    spec: _Spec = _Spec()
    status: _Status = _Status()

    def is_told(self, image: str) -> bool:
        """Whether it has the release of an image, or is to get it."""
        return self.has(image) or self.told.is_of(image)

    def has(self, image: str) -> bool:
        """Whether the release of an image is completely applied, and is what the cluster is at."""
        newest = self.status.history[0] if self.status.history else _Entry()
        return self._is_current and newest.is_of(image) and newest.state == COMPLETED

    def mismatch(self, version: str, image: str) -> str | None:
        """Return that the release of an image has another version, as far as OKD knows that image; else None."""
        known = next((it.version for it in (self.status.desired, *self.status.history) if it.is_of(image)), "")
        return f"the image is that of {known}, wanted that of {version}" if known not in ("", version) else None

    def risk(self, version: str, image: str) -> str | None:
        """Return why the update to a release is not recommended to this cluster. None: nothing is known against it.

        The operator takes such a release all the same, and notes the risk (pkg/payload/precondition/clusterversion,
        recommendedupdate.go); it is `oc adm upgrade` that refuses, from the same words.
        """
        listed = [it for it in self.status.conditional if it.release.version == version or it.release.is_of(image)]
        if not listed or any(it.version == version or it.is_of(image) for it in self.status.available or ()):
            return None
        seen = listed[0].condition("Recommended")
        if seen is None:
            return UNEVALUATED
        return None if seen.status == "True" else one_line(f"{seen.reason}: {seen.message}")

    @property
    def told(self) -> _Release:
        """The release that it is to get: the one it has begun, unless the spec desires another one that is valid.

        A desired update without an image is that of its version, once OKD has begun with it.
        """
        told, has = self.spec.desired or _Release(), self.status.desired
        is_other = told.image or told.version not in ("", has.version)
        return told if is_other and (told.image or not self._found(INVALID)) else has

    @property
    def awaited(self) -> str:
        """The release that it was told to get, and has neither begun nor refused yet; empty: there is none."""
        told, has = self.told, self.status.desired
        is_there = told == has or told.is_of(has.image)
        return "" if is_there or self._found(REFUSED) else told.version or told.image

    @property
    def stuck(self) -> str | None:
        """Why the operator does not get on. None: it does."""
        condition = self._found(STUCK)
        return one_line(f"{condition.type} is {condition.status}: {condition.message}") if condition else None

    @property
    def progress(self) -> str:
        """What the operator says that it does."""
        progressing = self.status.condition("Progressing")
        says = progressing.message if self._is_current and progressing and progressing.status == "True" else ""
        return one_line(says) or "OKD has not begun yet"

    def _found(self, bad: Mapping[str, str]) -> Condition | None:
        """Return the first condition that has its bad status, of the present spec."""
        found = (self.status.condition(kind) for kind, status in bad.items())
        return next((it for it in found if self._is_current and it and it.status == bad[it.type]), None)

    @property
    def _is_current(self) -> bool:
        """Whether the status is of the present spec, and not of the one before."""
        return self.status.observed >= self.metadata.generation
