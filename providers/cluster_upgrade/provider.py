"""Pulumi's calls for `ClusterUpgrade`."""

from collections.abc import Iterator

from base.clock import SYSTEM_CLOCK
from base.errors import Fault, PayloadError, UpgradeError
from cluster.values.semver import Version
from payload.kubeconfig import needed, read_kubeconfig
from providers.asleep import first_faults
from providers.cluster_upgrade.engine import ClusterUpgradeEngine
from providers.cluster_upgrade.model import ClusterUpgradeOuts, ClusterUpgradeSpec
from providers.cluster_upgrade.release import digest_of
from providers.etcd.snapshot import EtcdSnapshots
from providers.pulumi.dynamic import Provider
from providers.pulumi.plugin import row, warnings
from wires.api.kubernetes import KubeApi


class ClusterUpgradeProvider(Provider[ClusterUpgradeSpec, ClusterUpgradeOuts]):
    """Create and update upgrade the cluster, read tells its version, delete leaves it as it is."""

    def _faults(self, old: ClusterUpgradeSpec | None, new: ClusterUpgradeSpec) -> Iterator[Fault]:
        yield from input_faults(old, new)
        yield from first_faults("upgrade", old)

    def _create(self, spec: ClusterUpgradeSpec) -> tuple[str, ClusterUpgradeOuts]:
        return spec.api_name, _engine(spec).reach()

    def _update(
        self, old: ClusterUpgradeSpec, outs: ClusterUpgradeOuts, new: ClusterUpgradeSpec
    ) -> ClusterUpgradeOuts:
        return _engine(new).reach()

    def _read(self, spec: ClusterUpgradeSpec, outs: ClusterUpgradeOuts) -> ClusterUpgradeOuts:
        warn = warnings(spec.urn)
        try:
            running = _engine(spec).running()
        except (UpgradeError, PayloadError) as error:
            warn(f"the version was not read: {error}")
            return outs
        if running != spec.version:
            warn(f"OKD is at {running}, and the stack names {spec.version}")
        return ClusterUpgradeOuts(running=running)


def input_faults(old: ClusterUpgradeSpec | None, new: ClusterUpgradeSpec) -> Iterator[Fault]:
    """Yield a fault if the stack names an older release than before, or another one by the image of that before.

    Args:
        old: Inputs in the state, if any.
        new: Inputs of this run.
    """
    before, now = (Version.of(spec.version) if spec else None for spec in (old, new))
    if old and before and now and now < before:
        what = f"{new.version} is older than {old.version}, and no cluster goes back"
        yield Fault("upgrade.version", what, f"write {old.version} again, or a newer one")
    elif old and new.version != old.version and digest_of(new.image) == digest_of(old.image):
        what = f"it is that of {old.version}, wanted that of {new.version}"
        yield Fault("upgrade.image", what, f"write the digest of {new.version}, as `oc adm release info` prints it")


def _engine(spec: ClusterUpgradeSpec) -> ClusterUpgradeEngine:
    kubeconfig = needed(spec.stack, read_kubeconfig(spec.stack), "upgrade")
    api, show = KubeApi.by(kubeconfig, spec.api_name), row(spec.urn)
    snapshots = EtcdSnapshots.of(spec.stack, spec.api_name, spec.api_vip, spec.snapshots, show)
    save = snapshots.take if spec.snapshots else lambda: None
    return ClusterUpgradeEngine(api, spec, save, SYSTEM_CLOCK, show)
