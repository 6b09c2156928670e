"""What an update does to servers, by the same rules as the provider that does it."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from providers.host_provisioning.model import HostProvisioningOuts, HostProvisioningSpec
from providers.host_provisioning.records import named_anew, still_installed
from review.preview import SECRET, UNKNOWN, Preview, Step, Values
from review.words import code, joined

ROLES = {"control-plane": "control plane", "compute": "compute"}


@dataclass(frozen=True)
class Rollout:
    """The servers of one role."""

    role: str
    spec: HostProvisioningSpec
    kept: tuple[str, ...]
    """Installed, and left alone."""
    anew: Mapping[str, str]
    """Installed, and to be wiped because a new line of `reinstall` names them: by host, that line."""
    pending: tuple[str, ...]
    """Without a record."""
    changes: bool
    """Whether something changes that goes into the boot ISO."""


def wipes(preview: Preview) -> dict[str, str]:
    """Return the servers that may be wiped, each with the option whose line allows it: `consent` or `reinstall`."""
    found = dict[str, str]()
    for each in _rollouts(preview):
        found |= dict.fromkeys([*each.pending, *_replaced(preview, each)], "consent") | dict.fromkeys(
            each.anew, "reinstall"
        )
    return dict(sorted(found.items()))


def wiped(preview: Preview) -> Iterator[str]:
    """Yield a sentence for the servers of each role, by the reason for which they are installed."""
    created = _made(preview)
    for each in _rollouts(preview):
        role = ROLES[each.role]
        disks = {host: f"{_disk(each.spec, host)} of {host}" for host in each.spec.hosts}
        consents = {host: _consent(preview, created, host) for host in each.spec.hosts}
        certain = [host for host in each.pending if host in created and not created[host].new.get("running")]
        others = [host for host in each.pending if host not in certain]
        if each.anew:
            what = joined(
                [f"{disks[host]} (`reinstall` names {code(who)})" for host, who in sorted(each.anew.items())]
            )
            yield f"Wipes {what}, and installs {_them([*each.anew])} again ({role})."
        if certain:
            what = joined([f"{disks[host]}{consents[host]}" for host in certain])
            yield f"Wipes {what}, and installs {_them(certain)} ({role})."
        if others:
            what = joined([f"{disks[host]}{consents[host]}" for host in others])
            runs = "a server that runs from its disk already is only recorded"
            yield f"Wipes {what}, and installs {_them(others)} ({role}); {runs}."
        if replaced := _replaced(preview, each):
            what = joined([f"{disks[host]}{consents[host]}" for host in replaced])
            yield f"Wipes {what}, where the BMC shows another machine than is recorded, and installs that ({role})."


def taken_over(preview: Preview) -> Iterator[str]:
    """Yield a sentence on the servers that are switched off, to be installed."""
    taken = [
        host for host, step in _made(preview).items() if not step.new.get("spare") and not step.new.get("running")
    ]
    if taken:
        yield f"Switches off {joined(taken)}, where the machine is the one that its consent names."
    if exchanged := _exchanged(preview):
        other = "where the BMC shows another machine than is recorded, and the new consent names it"
        yield f"Switches off {joined(exchanged)}, {other}."


def released(preview: Preview) -> Iterator[str]:
    """Yield a sentence on the servers that are given up."""
    gone = [
        str(step.old["host"])
        for step in preview.of("BmcHost")
        if step.operation in ("delete", "replace") and not step.old.get("spare")
    ]
    if gone:
        yield f"Switches off {joined(gone)}, and gives {_them(gone)} up; nothing on disks is deleted."


def recorded(preview: Preview) -> Iterator[str]:
    """Yield a sentence on spares, and one on servers that belong to a cluster whose state was lost."""
    if spares := [host for host, step in _made(preview).items() if step.new.get("spare")]:
        yield f"Records {joined(spares)} as spare, and leaves {_them(spares)} as found."
    if running := [host for host, step in _made(preview).items() if step.new.get("running")]:
        yield f"Records {joined(running)} without switching {_them(running)} off."


def _made(preview: Preview) -> dict[str, Step]:
    """Return the new hosts by name."""
    return {str(step.new["host"]): step for step in preview.of("BmcHost") if step.operation in ("create", "replace")}


def compared(preview: Preview) -> list[str]:
    """Return the hosts whose BMC is only compared with the record."""
    return [str(step.new["host"]) for step in preview.of("BmcHost") if step.operation == "update"]


def untouched(preview: Preview) -> list[str]:
    """Return the installed servers that a change does not reach, because nothing is written to them any more."""
    return sorted(host for each in _rollouts(preview) if each.changes for host in each.kept)


def _rollouts(preview: Preview) -> Iterator[Rollout]:
    for step in preview.of("HostProvisioning"):
        if step.operation != "delete":
            yield _rollout(step)


def _rollout(step: Step) -> Rollout:
    new = _spec(step.new)
    old = _spec({**step.old, **step.outs}) if step.old else None
    outs = HostProvisioningOuts.model_validate(
        {name: value for name, value in step.outs.items() if value is not None}
    )
    installed = still_installed(outs.installed, new)
    anew = {host: who for host, who in named_anew(old, new).items() if host in installed}
    return Rollout(
        role=str(step.new["role"]),
        spec=new,
        kept=tuple(host for host in installed if host not in anew),
        anew=anew,
        pending=tuple(host for host in new.hosts if host not in installed),
        changes=old is not None and old.into_iso != new.into_iso,
    )


def _spec(values: Values) -> HostProvisioningSpec:
    """Return the inputs without secrets, and without identities that a preview cannot know."""
    known = {name: value for name, value in values.items() if value is not None and value != SECRET}
    identities = known.get("identities", {})
    known["identities"] = {host: who for host, who in identities.items() if UNKNOWN not in _leaves(who)}
    return HostProvisioningSpec.model_validate({**known, "passwords": {}})


def _leaves(who: Any) -> tuple[Any, ...]:
    return tuple(who.values()) if isinstance(who, dict) else (who,)


def _may_be_another(step: Step) -> bool:
    """Whether a host's BMC may turn out to be that of another machine: only a new consent allows that."""
    return step.operation == "update" and not step.new.get("spare") and step.is_new("consent")


def _exchanged(preview: Preview) -> list[str]:
    return [str(step.new["host"]) for step in preview.of("BmcHost") if _may_be_another(step)]


def _replaced(preview: Preview, rollout: Rollout) -> list[str]:
    """Return the installed servers that may turn out to be other machines."""
    return sorted({*_exchanged(preview)} & {*rollout.kept})


def _disk(spec: HostProvisioningSpec, host: str) -> str:
    hints = spec.hosts[host].root_device
    if hints.keys() == {"deviceName"}:
        return code(hints["deviceName"])
    return f"the disk with {code(dict(hints))}" if hints else "a disk"


def _consent(preview: Preview, created: Mapping[str, Step], host: str) -> str:
    """Return the consent to a host's machine, from its own step or from the options, which may hold it encrypted."""
    options = preview.options.get("consent")
    given = options.get(host) if isinstance(options, dict) else None
    who = created[host].new.get("consent") if host in created else given
    return f" (consent {code(who)})" if who and who != SECRET else ""


def _them(hosts: Sequence[str]) -> str:
    return "it" if len(hosts) == 1 else "them"
