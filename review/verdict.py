"""What an update does to machines, in sentences. Each follows from the preview's steps and from the rules of `up`."""

from collections.abc import Iterator
from dataclasses import dataclass

from base.errors import one_line
from base.spec import marked
from cluster.values.balancer import Balancer
from cluster.values.phase import Phase
from providers.bootstrap_vm.model import BUILT_FROM, BootstrapVmSpec
from providers.cluster_power.model import ClusterPowerOuts, ClusterPowerSpec
from providers.cluster_power.rules import goes_off, wakes
from providers.cluster_upgrade.model import ClusterUpgradeSpec
from providers.server_objects.model import ServerObjectsSpec
from providers.server_objects.objects import HOST, MACHINE
from providers.vip_handoff.model import VipHandoffSpec
from providers.vip_held.model import VipHeldSpec
from review import hosts
from review.files import count_changed_files
from review.preview import Preview
from review.text import code, counted, joined

CHECKED = {
    "ProvisionerPreflight": "the provisioner",
    "NetworkPreflight": "the network",
    "VipHandoff": "who holds the API VIP",
    "VipHeld": "who holds the Ingress VIP",
}
BY_BALANCER = dict.fromkeys(("VipHandoff", "VipHeld"), "your balancer")
"""What these check where the site balances: no machine of the cluster holds a VIP there."""
OWN = {
    *CHECKED,
    "BmcHost",
    "BootstrapVm",
    "ClusterPower",
    "ClusterUpgrade",
    "DestroyGuard",
    "HostProvisioning",
    "Machines",
    "OkdInstalled",
    "RenderedAsset",
    "ServerObjects",
}
VERBS = {"create": "Creates", "update": "Updates", "delete": "Deletes", "replace": "Deletes and creates again"}


@dataclass(frozen=True)
class Sentence:
    """One effect of an update."""

    text: str
    """A sentence; values are code spans."""
    is_grave: bool = False
    """Whether it wipes, deletes or switches off something."""


def verdict(preview: Preview) -> list[Sentence]:
    """Return what an update does: first what it cannot do, then what it touches."""
    if not preview.steps:
        return [Sentence("Nothing changes.")]
    touching = [*_machines(preview), *_others(preview)]
    still = [] if touching else [Sentence(_no_machine(preview))]
    return [*_kept(preview), *still, *touching, *_untouched(preview), *_checked(preview), *_awaited(preview)]


def _kept(preview: Preview) -> Iterator[Sentence]:
    for text in hosts.kept_networks(preview):
        yield Sentence(text, is_grave=True)


def _machines(preview: Preview) -> Iterator[Sentence]:
    yield from _power(preview)
    yield from _saved(preview)
    yield from _moved(preview)
    yield from _vm(preview)
    for text in hosts.drained(preview):
        yield Sentence(text, is_grave=True)
    for text in hosts.taken_over(preview):
        yield Sentence(text, is_grave=True)
    for text in hosts.taken_out(preview):
        yield Sentence(text, is_grave=True)
    for text in hosts.wiped(preview):
        yield Sentence(text, is_grave=True)
    for text in hosts.released(preview):
        yield Sentence(text, is_grave=True)
    for text in hosts.recorded(preview):
        yield Sentence(text)
    yield from _objects(preview)
    yield from _upgraded(preview)


def _power(preview: Preview) -> Iterator[Sentence]:
    """Yield that the cluster goes to sleep, or wakes: each server, in the order in which it is switched."""
    for change in preview.of(ClusterPowerSpec):
        old, new = change.old, change.spec
        if change.operation != "update" or old is None:
            continue
        if goes_off(old, new):
            if new.snapshots:
                store = code(new.snapshots)
                yield Sentence(f"Saves etcd below {store} before a server goes off; without a snapshot, none does.")
            order = ", then ".join(joined(sorted(group)) for group in new.groups if group)
            yield Sentence(f"Puts the cluster to sleep: cordons all nodes, and shuts down {order}.", is_grave=True)
        elif wakes(old, change.recorded(ClusterPowerOuts), new):
            compute, with_etcd = (sorted(group) for group in new.waking(old).groups)
            order = ", then ".join(joined(group) for group in (with_etcd, compute) if group)
            approves = "approves what their kubelets request, and " if new.approve_certificates else ""
            yield Sentence(f"Wakes the cluster: switches on {order}; {approves}uncordons what it has cordoned.")


def _objects(preview: Preview) -> Iterator[Sentence]:
    """Yield what the cluster gets to know of its servers, and what it forgets."""
    for change in preview.of(ServerObjectsSpec):
        if change.operation == "delete":
            yield Sentence("Leaves the BareMetalHosts and Machines to the cluster.")
            continue
        servers = counted(sum(name.startswith(HOST) for name in change.spec.objects), "server")
        text = f"Makes the BareMetalHosts and Machines of {servers}, or repairs them; none has a `bmc`"
        yield Sentence(f"{text}, so that metal3 touches no server.")
        left = (change.old.objects if change.old else {}).keys() - change.spec.objects.keys()
        if names := sorted(name.partition("/")[2] for name in left if name.startswith(MACHINE)):
            text = f"Deletes BareMetalHost and Machine of {joined(names)}"
            yield Sentence(f"{text}: OKD drains and deletes the node if it is still there.", is_grave=True)


def _upgrades(preview: Preview) -> list[ClusterUpgradeSpec]:
    return [change.spec for change in preview.of(ClusterUpgradeSpec) if change.operation != "delete"]


def _upgraded(preview: Preview) -> Iterator[Sentence]:
    for spec in _upgrades(preview):
        repository, _, digest = spec.image.partition("@")
        # In full, since it is what a person approves.
        text = f"Upgrades OKD to {code(spec.version)}, image `{one_line(digest)}` of {code(repository)}"
        yield Sentence(f"{text}: one node after the other restarts, and no cluster goes back.", is_grave=True)


def _moves(preview: Preview) -> list[VipHandoffSpec]:
    """Return the handoffs that this update makes."""
    updated = [change for change in preview.of(VipHandoffSpec) if change.operation == "update"]
    moved = (Phase.BOOTSTRAP, Phase.PRODUCTION)
    return [change.spec for change in updated if change.old and (change.old.phase, change.spec.phase) == moved]


def _moved(preview: Preview) -> Iterator[Sentence]:
    for spec in _moves(preview):
        if spec.balancer is Balancer.SITE:
            yield Sentence("Ends the bootstrap VM once the control plane serves behind your balancer.")
        else:
            vips = joined([code(vip) for vip in spec.vips])
            yield Sentence(f"Moves the API VIP {vips} from the bootstrap VM to the control plane.")


def _saved(preview: Preview) -> Iterator[Sentence]:
    before = {"the API VIP moves": [spec.snapshots for spec in _moves(preview)]}
    before["a server is wiped"] = [*hosts.saving(preview)]
    before["OKD is upgraded"] = [spec.snapshots for spec in _upgrades(preview)]
    for what, stores in before.items():
        if store := next(filter(None, stores), ""):
            yield Sentence(f"Saves etcd below {code(store)} before {what}; without a snapshot, that is not begun.")


def _vm(preview: Preview) -> Iterator[Sentence]:
    for change in preview.of(BootstrapVmSpec):
        name = code(change.spec.name)
        match change.operation:
            case "create":
                yield Sentence(f"Creates the bootstrap VM {name}.")
            case "delete":
                yield Sentence(f"Deletes the bootstrap VM {name}, with its disk.", is_grave=True)
            case "replace":
                yield Sentence(f"Deletes the bootstrap VM {name} with its disk, and builds it again.", is_grave=True)
            case _ if {*marked(BootstrapVmSpec, BUILT_FROM)} & {*change.step.changed}:
                guard = "if a server of the control plane runs already, `up` ends there with an error"
                text = f"Builds the bootstrap VM {name} again, with a new disk; {guard}."
                yield Sentence(text, is_grave=True)
            case _:
                yield Sentence(f"Starts the bootstrap VM {name} if it is off.")


def _others(preview: Preview) -> Iterator[Sentence]:
    """Yield a sentence for each resource that is not of this program, as libvirt's pool."""
    for step in preview.steps:
        if step.kind not in OWN:
            grave = step.operation in ("delete", "replace")
            yield Sentence(f"{VERBS[step.operation]} the {step.kind} {code(step.name)}.", is_grave=grave)


def _no_machine(preview: Preview) -> str:
    if not (files := count_changed_files(preview)):
        return "No machine is changed."
    return f"No machine is changed. Servers that are installed later get {counted(files, 'file')} as below."


def _untouched(preview: Preview) -> list[Sentence]:
    untouched = hosts.untouched(preview)
    if not untouched:
        return []
    files, are = count_changed_files(preview), "is" if len(untouched) == 1 else "are"
    to = f" to {counted(files, 'file')}" if files else ""
    servers = counted(len(untouched), "installed server")
    return [Sentence(f"{servers} {are} not touched by this change{to}: {', '.join(untouched)}.")]


def _checked(preview: Preview) -> list[Sentence]:
    moved = {"VipHandoff"} if _moves(preview) else set[str]()
    kinds = {step.kind for step in preview.steps if step.operation != "delete"} - moved
    compared = hosts.compared(preview)
    balancers = {change.spec.balancer for change in preview.of(VipHandoffSpec)}
    balancers |= {change.spec.balancer for change in preview.of(VipHeldSpec)}
    names = CHECKED | (BY_BALANCER if Balancer.SITE in balancers else {})
    checked = list(dict.fromkeys(names[kind] for kind in CHECKED if kind in kinds))
    checked += [f"the BMC of {joined(compared)}"] if compared else []
    return [Sentence(f"Checks {joined(checked)}.")] if checked else []


def _awaited(preview: Preview) -> list[Sentence]:
    waits = any(step.kind == "OkdInstalled" and step.operation != "delete" for step in preview.steps)
    return [Sentence("Waits until OKD reports that its installation is complete.")] if waits else []
