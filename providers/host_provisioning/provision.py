"""Installs the hosts that an `InstallationPlan` names."""

from collections.abc import Iterable, Mapping

from base.clock import SYSTEM_CLOCK
from boot_media.host_isos import IsoMedia
from payload.kubeconfig import Kubeconfig, needed, read_kubeconfig
from providers.host_provisioning import composition
from providers.host_provisioning.etcd_guard import EtcdQuorum
from providers.host_provisioning.installation.engine import Installation
from providers.host_provisioning.installation.scheduler import install_all
from providers.host_provisioning.model import HostProvisioningOuts, HostProvisioningSpec, InstallationRecord
from providers.host_provisioning.records import InstallationPlan, InstalledHost, not_installed
from providers.pulumi import plugin
from wires.api.kubernetes import KubeApi


def provision(spec: HostProvisioningSpec, plan: InstallationPlan) -> HostProvisioningOuts:
    """Install the pending hosts, and return the new outputs.

    Raises:
        OkdBaremetalError: Nothing was touched: an input file is missing, or etcd still counts on a host.
        ProvisioningError: At least one host failed; the next run finds the others installed.
    """
    if not plan.pending:
        return plan.carried
    recipe, kubeconfig = composition.recipe_of(spec), read_kubeconfig(spec.stack)
    _refuse_etcd_members(spec, plan.reinstall, kubeconfig)
    joining = composition.joining_of(spec, kubeconfig) if kubeconfig else None
    missing = composition.missing_of(spec, recipe, kubeconfig, joining)
    with composition.image_server_of(spec) as server, IsoMedia(server, recipe, plugin.row(spec.urn)) as media:
        installations = composition.installations_of(spec, plan, media, missing)
        failed = install_all(installations, clock=SYSTEM_CLOCK)
    if failed:
        raise not_installed(spec, failed, plan.reinstall.keys() - failed.keys())
    return plan.outputs(_results(spec, installations), joining.approved if joining else {})


def _refuse_etcd_members(spec: HostProvisioningSpec, hosts: Iterable[str], kubeconfig: Kubeconfig | None) -> None:
    for name in sorted({*hosts} & {*spec.out_of_etcd}):
        api = KubeApi.by(needed(spec.stack, kubeconfig, f"reinstall.{name}"), spec.api_name)
        EtcdQuorum(api, spec.api_vip).refuse_member(name, spec.hosts[name].addresses)


def _results(spec: HostProvisioningSpec, installations: Mapping[str, Installation]) -> dict[str, InstalledHost]:
    at = composition.now()
    return {
        name: InstalledHost(
            record=InstallationRecord(uuid=spec.identity_of(name).own, iso_sha256=done.iso_sha256, at=at),
            disk=done.disk,
            steps=done.seconds,
            requests=done.adapters.bmc.requests,
        )
        for name, done in installations.items()
    }
