"""Pulumi's calls for `OkdInstalled`."""

from collections.abc import Iterator

from base.clock import SYSTEM_CLOCK
from base.errors import Fault
from payload.kubeconfig import add_authority, kubeconfig_path, needed, read_kubeconfig
from providers.asleep import first_faults
from providers.okd_installed.engine import OkdInstalledEngine
from providers.okd_installed.model import OkdInstalledOuts, OkdInstalledSpec
from providers.pulumi.dynamic import Provider
from providers.pulumi.plugin import notes, row
from wires.api.kubernetes import KubeApi


class OkdInstalledProvider(Provider[OkdInstalledSpec, OkdInstalledOuts]):
    """Create and update wait for OKD, read and delete do nothing."""

    def _faults(self, old: OkdInstalledSpec | None, new: OkdInstalledSpec) -> Iterator[Fault]:
        yield from first_faults("wait", old)

    def _create(self, spec: OkdInstalledSpec) -> tuple[str, OkdInstalledOuts]:
        return spec.api_name, _installed(spec)

    def _update(self, old: OkdInstalledSpec, outs: OkdInstalledOuts, new: OkdInstalledSpec) -> OkdInstalledOuts:
        return _installed(new)


def _installed(spec: OkdInstalledSpec) -> OkdInstalledOuts:
    kubeconfig = needed(spec.stack, read_kubeconfig(spec.stack), "wait: install")
    api = KubeApi.by(kubeconfig, spec.api_name)
    engine = OkdInstalledEngine(api, spec.api_vip, SYSTEM_CLOCK, row(spec.urn), notes(spec.urn))
    outs = engine.prove(deadline_s=spec.deadline_s)
    if not ((pem := engine.router_ca()) and add_authority(spec.stack, pem)):
        notes(spec.urn)(f"the routers' CA could not be put into {kubeconfig_path(spec.stack)}")
    return outs
