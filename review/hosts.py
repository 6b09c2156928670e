"""What an update does to servers, by the same rules as the provider that does it."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass

from assets.contract import CONNECTIONS
from cluster.values.disk_hints import NO_HINT, as_compared, in_words
from cluster.values.role import Role
from providers.bmc_host.model import BmcHostOuts, BmcHostSpec
from providers.host_provisioning.model import HostProvisioningOuts, HostProvisioningSpec
from providers.host_provisioning.records import InstallationPlan, leaving_hosts
from review.files import machines_below
from review.preview import SECRET, Change, Preview
from review.text import code, joined

ROLES = {Role.CONTROL_PLANE: "control plane", Role.ARBITER: "arbiter", Role.COMPUTE: "compute"}


@dataclass(frozen=True)
class Installation:
    """The installation of the servers of one role."""

    spec: HostProvisioningSpec
    plan: InstallationPlan


def wipes(preview: Preview) -> list[tuple[str, str]]:
    """Return each server that may be wiped, with an option whose line allows that, sorted.

    It is `consent` or `reinstall`; beside it `wipe_disks`, if that names further disks.
    """
    lines = list[tuple[str, str]]()
    for installation in _installations(preview):
        consented = [*installation.plan.without_record, *_replaced(preview, installation)]
        options = dict.fromkeys(consented, "consent") | dict.fromkeys(installation.plan.reinstall, "reinstall")
        stale = ((host, "wipe_disks") for host in options if installation.spec.hosts[host].wipe_disks)
        lines += [*options.items(), *stale]
    return sorted(lines)


def wiped(preview: Preview) -> Iterator[str]:
    """Yield a sentence for the servers of each role, by the reason for which they are installed."""
    created = _made(preview)
    for installation in _installations(preview):
        spec, plan, role = installation.spec, installation.plan, ROLES[installation.spec.role]
        replaced = _replaced(preview, installation)
        again = _of_how_many(installation, {*plan.reinstall, *plan.replaced, *replaced})
        disks = {host: f"{_disk(spec, host)} of {host}" for host in spec.hosts}
        consents = {host: _consent(preview, created, host) for host in spec.hosts}
        certain = [host for host in plan.without_record if host in created and not created[host].running]
        others = [host for host in plan.without_record if host not in certain]
        if plan.reinstall:
            what = joined(
                [f"{disks[host]} (`reinstall` names {code(who)})" for host, who in sorted(plan.reinstall.items())]
            )
            yield f"Wipes {what}, and installs {_them([*plan.reinstall])} again ({role}{again})."
        if certain:
            what = joined([f"{disks[host]}{consents[host]}" for host in certain])
            yield f"Wipes {what}, and installs {_them(certain)} ({role})."
        if others:
            what = joined([f"{disks[host]}{consents[host]}" for host in others])
            runs = "a server that runs from its disk already is only recorded"
            asked = again if {*others} & {*plan.replaced} else ""
            yield f"Wipes {what}, and installs {_them(others)} ({role}{asked}); {runs}."
        if replaced:
            what = joined([f"{disks[host]}{consents[host]}" for host in replaced])
            other = "where the BMC shows another machine than is recorded"
            yield f"Wipes {what}, {other}, and installs that ({role}{again})."


def _of_how_many(installation: Installation, again: Collection[str]) -> str:
    """Return how many of the installed servers of a role that holds etcd are wiped again, and who is asked before."""
    if not again or not installation.spec.role.holds_etcd:
        return ""
    return f": {len(again)} of its {len(installation.spec.hosts)} servers, and only if etcd can do without"


def taken_out(preview: Preview) -> Iterator[str]:
    """Yield a sentence on the servers that leave etcd before they are wiped again, and on those that join it."""
    for installation in _installations(preview):
        other = {*_replaced(preview, installation)} & {*installation.spec.out_of_etcd}
        members = {*installation.plan.leaving(installation.spec), *other}
        joining = sorted(members & {*installation.plan.joining})
        for host in sorted(members - {*joining}):
            once = f"once {host} is off and all other members of etcd answer"
            yield f"Removes the etcd member of {host}, and deletes its node, {once}; ends when it is a member again."
        if joining:
            left = f"what an interrupted run has left of {_them(joining)} there is removed first"
            yield f"Adds {joined(joining)} to etcd while all its members answer, and ends when that is done; {left}."


def taken_over(preview: Preview) -> Iterator[str]:
    """Yield a sentence on the servers that are switched off, to be installed."""
    taken = [host for host, spec in _made(preview).items() if not spec.spare and not spec.running]
    if taken:
        yield f"Switches off {joined(taken)}, where the machine is the one that its consent names."
    if others := exchanged(preview):
        other = "where the BMC shows another machine than is recorded, and the new consent names it"
        yield f"Switches off {joined(others)}, {other}."


def released(preview: Preview) -> Iterator[str]:
    """Yield a sentence on the servers that are given up."""
    gone = [
        change.old.host
        for change in preview.of(BmcHostSpec)
        if change.operation in ("delete", "replace") and change.old and not change.old.spare
    ]
    if gone:
        yield f"Switches off {joined(gone)}, and gives {_them(gone)} up; nothing on disks is deleted."


def drained(preview: Preview) -> Iterator[str]:
    """Yield a sentence on the servers whose pods move to others before they are given up."""
    for change in preview.of(HostProvisioningSpec):
        if change.operation == "update" and change.old and (gone := leaving_hosts(change.old, change.spec)):
            end = (
                "switches it off, and deletes its node"
                if len(gone) == 1
                else "switches them off, and deletes their nodes"
            )
            yield f"Cordons and drains {joined(gone)}, as far as PodDisruptionBudgets allow; then {end}."


def recorded(preview: Preview) -> Iterator[str]:
    """Yield a sentence on spares, and one on servers that belong to a cluster whose state was lost."""
    if spares := [host for host, spec in _made(preview).items() if spec.spare]:
        yield f"Records {joined(spares)} as spare, and leaves {_them(spares)} as found."
    if running := [host for host, spec in _made(preview).items() if spec.running]:
        yield f"Records {joined(running)} without switching {_them(running)} off."


def _made(preview: Preview) -> dict[str, BmcHostSpec]:
    """Return the new hosts by name."""
    made = [change.spec for change in preview.of(BmcHostSpec) if change.operation in ("create", "replace")]
    return {spec.host: spec for spec in made}


def compared(preview: Preview) -> list[str]:
    """Return the hosts whose BMC is only compared with the record."""
    updates = [change for change in preview.of(BmcHostSpec) if change.operation == "update"]
    return [change.spec.host for change in updates if {*change.step.changed} - _unasked(change)]


def _unasked(change: Change[BmcHostSpec]) -> set[str]:
    """Return the inputs whose changes are no reason to ask the BMC."""
    moved = change.old is not None and change.old.bmc.without_place == change.spec.bmc.without_place
    return {"protected", *(["bmc"] if moved else [])}


def untouched(preview: Preview) -> list[str]:
    """Return the installed servers that a change does not reach, because nothing is written to them any more."""
    installations = [installation for installation in _installations(preview) if installation.plan.changes_iso]
    return sorted(
        host
        for installation in installations
        for host in {*installation.plan.untouched} - {*_replaced(preview, installation)}
    )


def kept_networks(preview: Preview) -> Iterator[str]:
    """Yield a sentence on the installed servers whose network is another one in the files only."""
    if kept := sorted({*untouched(preview)} & machines_below(preview, CONNECTIONS)):
        are = "it is" if len(kept) == 1 else "they are"
        why = f"{are} installed, and `up` writes to no installed server"
        yield f"Leaves the network of {joined(kept)} as it is: {why}. Only `reinstall` brings the connections below."


def _installations(preview: Preview) -> Iterator[Installation]:
    for change in preview.of(HostProvisioningSpec):
        if change.operation != "delete":
            yield _installation(change)


def _installation(change: Change[HostProvisioningSpec]) -> Installation:
    return Installation(
        change.spec, InstallationPlan.of(change.old, change.recorded(HostProvisioningOuts), change.spec)
    )


def saving(preview: Preview) -> Iterator[str]:
    """Yield the store into which etcd is saved before a server is installed."""
    for installation in _installations(preview):
        if installation.plan.saves_etcd(installation.spec) or (
            installation.spec.snapshots and _replaced(preview, installation)
        ):
            yield installation.spec.snapshots


def exchanged(preview: Preview) -> list[str]:
    """Return the hosts whose BMC may turn out to be that of another machine: only a new consent allows that.

    One that names the recorded machine in another way allows none (`providers.machines.rules`).
    """
    updates = [change for change in preview.of(BmcHostSpec) if change.operation == "update"]
    return [
        change.spec.host
        for change in updates
        if change.old
        and not change.spec.spare
        and change.old.consent != change.spec.consent
        and not change.recorded(BmcHostOuts).identity.answers_to(change.spec.consent)
    ]


def _replaced(preview: Preview, installation: Installation) -> list[str]:
    """Return the installed servers that may turn out to be other machines."""
    return sorted({*exchanged(preview)} & {*installation.plan.untouched})


def _disk(spec: HostProvisioningSpec, host: str) -> str:
    """Return the disk that is wiped, with those that are if they are stale."""
    stale = joined([code(disk) for disk in spec.hosts[host].wipe_disks])
    return f"{_root_disk(spec, host)}{f', and {stale} if stale,' if stale else ''}"


def _root_disk(spec: HostProvisioningSpec, host: str) -> str:
    hints = as_compared(spec.hosts[host].root_device)
    if hints.keys() == {"deviceName"}:
        return code(hints["deviceName"])
    return f"the disk with {code(in_words(hints))}" if hints else f"a disk with {NO_HINT}"


def _consent(preview: Preview, created: Mapping[str, BmcHostSpec], host: str) -> str:
    """Return the consent to a host's machine, from its own step or from the options, which may hold it encrypted."""
    options = preview.options.get("consent")
    given = options.get(host) if isinstance(options, dict) else None
    who = created[host].consent if host in created else given
    return f" (consent {code(who)})" if who and who != SECRET else ""


def _them(hosts: Sequence[str]) -> str:
    return "it" if len(hosts) == 1 else "them"
