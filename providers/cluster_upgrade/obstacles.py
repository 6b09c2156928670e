"""What stands in the way of an upgrade: asked before one begins, and before a person approves it."""

from collections.abc import Iterator, Mapping
from typing import NamedTuple

from base.errors import word
from base.spec import Model
from cluster.values.semver import Version
from providers.cluster_upgrade.release import UNEVALUATED, ClusterVersion
from wires.api.resources import NODE_LIST, OPERATORS, VERSION, KubernetesReader, Metadata, Status

POOLS = "/apis/machineconfiguration.openshift.io/v1/machineconfigpools"
IDLE = {"Available": "True", "Failing": "False", "Progressing": "False"}
UPGRADEABLE = "Upgradeable"
"""False also until a person has acknowledged what the next minor release removes (pkg/risk/adminack).

It bars no upgrade to a patch of the same minor release; sources as in `release.py`.
"""
WELL = {
    OPERATORS: ("operator", {"Available": "True", "Degraded": "False"}),
    NODE_LIST: ("node", {"Ready": "True"}),
    POOLS: ("machine config pool", {"Updated": "True", "Degraded": "False"}),
}
"""What each kind of thing must report, by its collection.

A pool whose nodes still restart is not `Updated` (types.go of openshift/api, machineconfiguration/v1).
"""


class Obstacle(NamedTuple):
    """One thing that stands in the way, or does not."""

    kind: str
    """version, update, operator, node or machine config pool."""
    name: str
    """Which one; of things that are well, all of their kind are one."""
    says: str
    """What was seen."""
    is_good: bool

    def __str__(self) -> str:
        return f"{self.kind} {self.name} is {self.says}"


class _Spec(Model):
    paused: bool = False
    """Of a pool: its nodes get nothing new, so no upgrade ends."""


class _Thing(Model):
    metadata: Metadata
    spec: _Spec = _Spec()
    status: Status = Status()

    def problem(self, wanted: Mapping[str, str]) -> str | None:
        return "paused" if self.spec.paused else self.status.problem(wanted)


class _Things(Model):
    items: tuple[_Thing, ...] = ()


def seen_of(api: KubernetesReader, vip: str, version: str, image: str) -> Iterator[Obstacle]:
    """Yield what was seen of a cluster that is to be upgraded; what it is already told to do is not begun again.

    Raises:
        OSError: The API cannot be asked.
    """
    found = api.get(vip, VERSION, ClusterVersion)
    yield _of_version(found, version, image)
    if found and not found.is_told(image) and (risk := found.risk(version, image)):
        take = f"to take that risk, save etcd, then `oc adm upgrade --allow-not-recommended --to={word(version)}`"
        then = "ask again in some minutes" if risk == UNEVALUATED else take
        yield Obstacle("update", f"to {version}", f"not recommended: {risk}; {then}", is_good=False)
    yield from unwell(api, vip)


def unwell(api: KubernetesReader, vip: str) -> Iterator[Obstacle]:
    """Yield what is not well of operators, nodes and pools; and one good row of each kind of which all are.

    Raises:
        OSError: The API cannot be asked.
    """
    for path, (kind, wanted) in WELL.items():
        listed = api.get(vip, path, _Things)
        problems = {it.metadata.name: it.problem(wanted) for it in listed.items} if listed else {}
        bad = {name: problem for name, problem in sorted(problems.items()) if problem}
        yield from (Obstacle(kind, name, problem, is_good=False) for name, problem in bad.items())
        if not bad:
            yield Obstacle(kind, "all", f"well: {len(problems)}" if problems else "not listed", bool(problems))


def _of_version(found: ClusterVersion | None, version: str, image: str) -> Obstacle:
    if found is None:
        return Obstacle("version", "of OKD", "missing: it is no cluster of OKD", is_good=False)
    has = found.status.desired.version
    says, is_good = f"{has}, wanted {version}", True
    problem = found.mismatch(version, image) or (None if found.is_told(image) else _problem(found, version))
    if problem:
        says, is_good = problem, False
    return Obstacle("version", "of OKD", says, is_good)


def _problem(found: ClusterVersion, version: str) -> str | None:
    has = found.status.desired.version
    now, then = Version.of(has), Version.of(version)
    if now is None or then is None:
        return f"{has!r}, which cannot be compared with {version}"
    if why := _barred_way(now, then):
        return f"{has}: {version} {why}"
    told = f"was told to get {found.awaited}" if found.awaited else None
    if problem := told or found.status.problem(IDLE):
        return f"{has}, and {problem}"
    upgradeable = found.status.condition(UPGRADEABLE)
    is_minor = (then.major, then.minor) != (now.major, now.minor)
    if is_minor and upgradeable and upgradeable.status == "False":
        return f"{has}, and not {UPGRADEABLE}: {upgradeable.message}"
    return None


def _barred_way(now: Version, then: Version) -> str | None:
    """Return why a cluster does not go from one version to another. None: it may.

    Stricter than OKD, which also goes back to the release before of the same minor one.
    """
    if then <= now:
        return "is no newer release, and no cluster goes back"
    if then.major != now.major:
        is_next = (now.major, then[:2]) == (4, (5, 0))
        return None if is_next else "is of another major release, of which OKD takes only 5.0 from 4"
    return "is more than one minor release ahead, and OKD takes one at a time" if then.minor > now.minor + 1 else None
