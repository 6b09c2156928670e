"""Decides from inputs and records which hosts an update installs, leaves alone or refuses."""

from collections.abc import Iterator, Mapping, Set

from base.errors import Fault, ProvisioningError
from cluster.values.role import Role
from providers.host_provisioning.model import HostProvisioningOuts, HostProvisioningSpec, InstallationRecord
from wires.redfish.identity import is_shared, named


def faults(old: HostProvisioningSpec | None, new: HostProvisioningSpec) -> Iterator[Fault]:
    """Yield the faults of the inputs."""
    for key in ("passwords", "ours", "ignition_sha256"):
        if missing := sorted(new.hosts.keys() - getattr(new, key).keys()):
            yield Fault(key, f"missing for {', '.join(missing)}", "give one for each host")
    if old and old.hosts and new.unicast:
        for name in sorted(new.hosts.keys() - old.hosts.keys()):
            what = f"{name}: no installed host lists it as a VRRP peer (unicast), so two hosts would claim a VIP"
            yield Fault("hosts", what, "remove it, or lower the replicas to make it a spare")
    if old and old.hosts and new.role is Role.COMPUTE and new.is_proxied:
        for name in sorted(new.boot_macs.keys() - old.hosts.keys()):
            what = f"{name}: the control plane is installed, and its DHCP does not know the MAC {new.boot_macs[name]}"
            yield Fault("hosts", what, "give the host a `…-virtualmedia` address, or make it a spare")
    anew = named_anew(old, new)
    if len(wiped := sorted(anew.keys() & {*new.out_of_etcd})) > 1:
        fix = "reinstall one server of the control plane at a time"
        yield Fault("reinstall", f"{' and '.join(wiped)} hold copies of etcd", fix)
    for name, who in anew.items():
        identity = new.identity_of(name).identity
        if name in new.identities and (not identity.answers_to(who) or is_shared(who)):
            what = f"reinstall.{name} names {who}, the host is {named(identity)}"
            yield Fault("reinstall", what, "name its own serial or UUID, or remove the line")


def notes(old: HostProvisioningSpec, outs: HostProvisioningOuts, new: HostProvisioningSpec) -> Iterator[str]:
    """Yield a line on the hosts whose disks an update wipes, and one on those that it leaves alone."""
    anew = sorted(outs.installed.keys() & named_anew(old, new).keys())
    kept = sorted(outs.installed.keys() - anew)
    if anew:
        yield f"reinstalled, disk wiped, as `reinstall` requests: {', '.join(anew)}"
    if kept and old.into_iso != new.into_iso:
        yield f"installed already, and not touched by this change: {', '.join(kept)}"


def named_anew(old: HostProvisioningSpec | None, new: HostProvisioningSpec) -> dict[str, str]:
    """Return the lines of `reinstall` that are new since the last successful `up`; only these have an effect."""
    before = old.reinstall if old else {}
    return {name: who for name, who in new.reinstall.items() if before.get(name) != who}


def still_installed(
    recorded: Mapping[str, InstallationRecord], spec: HostProvisioningSpec
) -> dict[str, InstallationRecord]:
    """Return the valid records: those of hosts that are still wanted and still the same machine."""
    return {
        name: record
        for name, record in recorded.items()
        if name in spec.hosts and spec.identity_of(name).own in ("", record.uuid)
    }


def summary(spec: HostProvisioningSpec, failed: Mapping[str, Exception], done: Set[str]) -> ProvisioningError:
    """Return the error of an update in which hosts failed.

    A failed update leaves no record, so the next would repeat every reinstallation. The message therefore names the
    hosts in `done`, which are reinstalled already.
    """
    lines = "".join(f"\n  {name}: {error}" for name, error in failed.items())
    count = f"{len(failed)} of {len(spec.hosts)} {spec.role.value} hosts"
    what = f"{count} were not installed:{lines}\nAll others run"
    fix = "run `pulumi up` again, which retries those hosts"
    if done:
        names = ", ".join(sorted(done))
        fix += f". Before that, remove from `reinstall` the hosts that are reinstalled already: {names}"
    return ProvisioningError(what, fix=fix)
