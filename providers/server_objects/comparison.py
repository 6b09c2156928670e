"""An object of a server as the cluster has it, against its manifest."""

import json
from collections.abc import Callable, Collection, Iterator, Mapping
from typing import Any

from base.errors import Fault, word
from providers.server_objects.objects import DETAILS, HOST, MACHINE, NAMESPACE, PAUSED, PROVISIONING, Manifest

UNMANAGED, RUNNING, DETACHED = "unmanaged", "Running", "detached"
KEPT = {HOST: ("bootMACAddress",), MACHINE: ("providerSpec",), PROVISIONING: ("provisioningNetwork",)}
"""The fields of each kind's `spec` that only its creation sets: the API keeps them, or somebody else chose them."""
EXTERNAL = "externallyProvisioned"
"""The field of a host that a web hook keeps from 4.20 on; without it, the baremetal-operator inspects the server."""
LEAVE = "`pulumi config set wait ingress`, with which this program leaves all objects of servers alone"


def refusals(wanted: Collection[str], gone: Collection[str], found: Mapping[str, Manifest]) -> Iterator[Fault]:
    """Yield why nothing may be written now.

    Args:
        wanted: Kind and name of the objects that are to be there.
        gone: Of those that are to go.
        found: The objects of the cluster.
    """
    for name in (*wanted, *gone):
        kind, _, own = name.partition("/")
        is_linked = bool(found.get(f"{MACHINE}/{own}", {}).get("spec", {}).get("providerID"))
        if kind == HOST and name in found:
            yield from _not_ours(name, own, found[name], is_linked=is_linked)
        elif kind == HOST and is_linked and name in wanted:
            what = f"missing, but {MACHINE}/{own} was linked to it, and fails for good with a new one"
            drain = f"drain the node, delete {MACHINE}/{own}, with which it goes, and reinstall the server"
            yield Fault(name, what, f"{drain} (docs/how-to/day-two.md); or {LEAVE}")


def _not_ours(name: str, own: str, found: Manifest, *, is_linked: bool) -> Iterator[Fault]:
    """Yield the traits of a host by which metal3 may touch its server, or a change would break what others have."""
    spec = found.get("spec", {})
    if spec.get("bmc", {}).get("address") and not _is_detached(found):
        what = "it has a `bmc`, so metal3 owns the power of this server beside this program"
        detach = f"`oc annotate baremetalhost {word(own)} -n {NAMESPACE} baremetalhost.metal3.io/{DETACHED}=`"
        yield Fault(name, what, f"{detach}, and run `pulumi up` again once its operationalStatus is {DETACHED}")
    elif not spec.get(EXTERNAL):
        what = f"`{EXTERNAL}` is not true, and cannot be changed"
        fix = f"delete it, which touches no server, and run `pulumi up` again; or {LEAVE}"
        yield Fault(name, what, LEAVE if is_linked else fix)  # without it, its Machine fails for good
    elif (consumer := spec.get("consumerRef")) and (consumer.get("kind"), consumer.get("name")) != (MACHINE, own):
        yield Fault(
            name, f"{consumer.get('kind')}/{consumer.get('name')} has claimed it, wanted {MACHINE}/{own}", LEAVE
        )


def _is_detached(found: Manifest) -> bool:
    """Whether Ironic has forgotten the server; then nobody but this program switches it."""
    return bool(found.get("status", {}).get("operationalStatus") == DETACHED)


def differences(wanted: Manifest, found: Manifest) -> list[str]:
    """Return what an `up` repairs: what was seen against what was wanted."""
    kind = wanted["kind"]
    lines = list(_metadata(wanted, found))
    if (paused := PAUSED.get(kind)) and paused in _annotations(found):
        lines.append(f"annotation {paused}, wanted none")
    if kind == HOST:
        lines += _hardware(wanted, found)
    lines += _fields(wanted, found, lambda key: key not in KEPT[kind] and key != EXTERNAL)
    return lines


def kept(wanted: Manifest, found: Manifest) -> list[str]:
    """Return what differs and stays so."""
    own = KEPT[wanted["kind"]]
    return [f"{line}; it stays" for line in _fields(wanted, found, lambda key: key in own)]


def unlinked(name: str, found: Manifest) -> str | None:
    """Return what an object's status lacks. None: the server is unmanaged, and its Machine is its node."""
    kind, _, own = name.partition("/")
    status = found.get("status", {})
    if kind == HOST:
        state = status.get("provisioning", {}).get("state")
        return None if state == UNMANAGED or _is_detached(found) else f"state {state or 'none'}, wanted {UNMANAGED}"
    if kind != MACHINE:
        return None
    phase, node = status.get("phase"), status.get("nodeRef", {}).get("name")
    if (phase, node) == (RUNNING, own):
        return None
    message = f" ({status['errorMessage']})" if status.get("errorMessage") else ""
    return f"phase {phase or 'none'} as node {node or 'none'}{message}, wanted {RUNNING} as node {own}"


def _metadata(wanted: Manifest, found: Manifest) -> Iterator[str]:
    consumed = (DETAILS,) if found.get("status", {}).get("hardware") else ()
    for part in ("annotations", "labels"):
        seen = found["metadata"].get(part) or {}
        for key, value in wanted["metadata"].get(part, {}).items():
            if seen.get(key) != value and key not in consumed:
                yield f"{part[:-1]} {key} is {seen.get(key, 'missing')}, wanted {value}"


def _hardware(wanted: Manifest, found: Manifest) -> Iterator[str]:
    """Yield what an unmanaged host has of the details, if they are others by now: sent again, they are taken again.

    A Machine has its addresses from there, and its node is known by them. Source: openshift/baremetal-operator
    fbb5bf864, updateHardwareDetails of baremetalhost_controller.go; so in each release from 4.16 on.
    """
    hardware = found.get("status", {}).get("hardware")
    if not hardware or found["spec"].get("bmc", {}).get("address"):
        return
    details = json.loads(wanted["metadata"]["annotations"][DETAILS])
    seen, right = (
        (own.get("hostname"), [(nic.get("ip"), nic.get("mac")) for nic in own.get("nics", ())])
        for own in (hardware, details)
    )
    if seen != right:
        yield f"hardware is {seen}, wanted {right}"


def _annotations(found: Manifest) -> dict[str, str]:
    return found["metadata"].get("annotations") or {}


def _fields(wanted: Manifest, found: Manifest, own: Callable[[str], bool]) -> list[str]:
    seen = found.get("spec", {})
    return [
        f"{key} is {seen.get(key)}, wanted {value}"
        for key, value in wanted["spec"].items()
        if own(key) and not _has(seen.get(key), value)
    ]


def _has(seen: Any, wanted: Any) -> bool:
    """Whether all that is wanted is there; others may add more."""
    if isinstance(wanted, dict):
        return isinstance(seen, dict) and all(_has(seen.get(key), value) for key, value in wanted.items())
    return bool(seen == wanted)
