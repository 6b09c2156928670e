"""The release of OKD that a cluster runs, and how an upgrade of it gets on."""

from collections.abc import Iterator

from cli.status.answers import Level, Question, Row
from cli.status.cluster import Cluster
from providers.cluster_upgrade.release import ClusterVersion
from wires.api.resources import VERSION, KubernetesReader


def releases(cluster: Cluster) -> Iterator[Question]:
    """Ask the API for the release, once the cluster is in production: until then, its installation tells it."""
    if cluster.is_in_production:
        yield cluster.of_kubernetes("release", "of OKD", release_rows)


def release_rows(cluster: Cluster, api: KubernetesReader) -> Iterator[Row]:
    """Yield the row of the release; none of a cluster that is not OKD's."""
    found = api.get(cluster.vip, VERSION, ClusterVersion)
    if found is None:
        return
    named, at = cluster.plan.options.upgrade, found.status.desired
    told = found.told
    goal = told.version or told.image
    level, says = Level.GOOD, at.version
    if why := found.stuck:
        what = f"{at.version}, but" if found.has(told.image) else f"the upgrade to {goal} does not get on:"
        level, says = Level.WRONG, f"{what} {why}"
    elif not found.has(at.image):
        level, says = Level.WARNING, f"on the way to {goal}: {found.progress}"
    elif named and not found.is_told(named.image):
        level, says = Level.WARNING, f"{at.version}; the stack names {named.version}, to which `pulumi up` upgrades"
    yield Row("release", "of OKD", level, says)
