"""RPC shell of `HostProvisioning`."""

from collections.abc import Callable, Iterator, Mapping, Set
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, nullcontext
from datetime import UTC, datetime
from functools import partial
from typing import Literal

from pulumi.dynamic import DiffResult
from pydantic import BaseModel, ConfigDict

from payload.kubeconfig import api_ca, read_kubeconfig
from providers.base import lock, progress
from providers.base.clock import SYSTEM_CLOCK
from providers.base.dynamic import Props, Provider, is_known
from providers.base.errors import OkdBaremetalError, ProvisioningError
from providers.base.progress import Report
from providers.host_provisioning.engine import HEARTBEAT_S, Host, Installation, World
from providers.host_provisioning.isos import IsoMedia, Recipe, Shelf
from providers.host_provisioning.media import MediaServer
from providers.host_provisioning.rollout import THREADS, roll_out
from providers.host_provisioning.web import WebServer
from wires.api.api import API_PORT
from wires.api.https import Endpoint
from wires.redfish.access import Access
from wires.redfish.bmc import Identity, Power
from wires.redfish.identity import is_shared, named, usable
from wires.redfish.sushy_bmc import SushyBmc
from wires.segment.neighbours import macs_at

PAYLOAD_NAMES = {"control-plane": "master", "compute": "worker"}
PROBE_S = 3.0
NEIGHBOUR_S = 1.0
INTO_THE_ISO = ("ignition_sha256", "base_iso_sha256", "payload_sha256", "media_address", "media_port", "media_url")
Record = dict[str, str]


class HostSpec(BaseModel):
    """One host, as the program gives it."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    bmc_url: str
    username: str
    ca: str = ""
    fingerprint: str = ""
    verify: bool = True
    session: bool = False
    address: str
    root_device: str
    uuid: str = ""
    serial: str = ""

    @property
    def machine(self) -> str:
        """What is this machine's alone, lower case: its UUID, else its serial number."""
        return usable(Identity(self.uuid, self.serial)).lower()


class HostProvisioningSpec(BaseModel):
    """Inputs as the provider gets them."""

    model_config = ConfigDict(frozen=True, extra="ignore")

    role: Literal["control-plane", "compute"]
    hosts: dict[str, HostSpec]
    passwords: dict[str, str]
    ca: str = ""
    media_address: str = ""
    media_port: int
    media_url: str = ""
    base_iso_sha256: str
    base_iso_url: str = ""
    ignition_sha256: dict[str, str] = {}
    ours: dict[str, str]
    keyfiles: dict[str, dict[str, str]] = {}
    payload_sha256: str
    reinstall: dict[str, str] = {}
    stack: str
    api_name: str
    deadline_s: float = 3600
    rows: dict[str, str] = {}
    urn: str = ""


class HostProvisioningProvider(Provider):
    """Create and update install the hosts without a record; a host with one is never touched again."""

    def _problems(self, olds: Props, news: Props) -> list[tuple[str, str]]:
        hosts = news.get("hosts")
        if not isinstance(hosts, dict):
            return []
        lacking = [
            (key, f"nothing for {', '.join(missing)}")
            for key in ("passwords", "ours", "ignition_sha256")
            if is_known(given := news.get(key) or {}) and (missing := sorted(hosts.keys() - given.keys()))
        ]
        return [*lacking, *_strangers(olds, news), *_others(olds, news)]

    def diff(self, _id: str, _olds: Props, _news: Props) -> DiffResult:
        """Say in the preview whose disk the change wipes, and whom it leaves alone."""
        installed, urn = _olds.get("installed") or {}, _news.get("urn")
        anew = sorted(installed.keys() & _named_anew(_olds, _news).keys())
        kept = sorted(installed.keys() - anew)
        note = progress.notes(urn) if isinstance(urn, str) else None
        if note and anew:
            note(f"installed anew, its disk wiped, as `reinstall` says: {', '.join(anew)}")
        if note and kept and any(_olds.get(key) != _news.get(key) for key in INTO_THE_ISO):
            note(f"installed already, and not touched by this change: {', '.join(kept)}")
        return super().diff(_id, _olds, _news)

    def _create(self, props: Props) -> tuple[str, Props]:
        spec = HostProvisioningSpec.model_validate(props)
        return f"{spec.stack}-{spec.role}", _provision(spec, {}, {})

    def _update(self, id_: str, olds: Props, news: Props) -> Props:
        return _provision(HostProvisioningSpec.model_validate(news), olds, _named_anew(olds, news))

    def _read(self, id_: str, props: Props) -> Props | None:
        """Warn of what is installed and does not run; `BmcHost` cannot know that it should."""
        spec = HostProvisioningSpec.model_validate(props)
        installed = [name for name in spec.hosts if name in (props.get("installed") or {})]
        with ThreadPoolExecutor(THREADS) as pool:
            powers = list(pool.map(partial(_power, spec), installed))
        if off := [name for name, power in zip(installed, powers, strict=True) if power is Power.OFF]:
            progress.warnings(spec.urn)(f"installed, and off: {', '.join(off)}")
        return {}


def _strangers(olds: Props, news: Props) -> Iterator[tuple[str, str]]:
    """Hosts that the others would not know."""
    known = olds.get("hosts") or {}
    if known and news.get("unicast") is True:
        for name in sorted(news["hosts"].keys() - known.keys()):
            reason = "no installed host lists it as a VRRP peer (unicast), so two would claim a VIP; take it out"
            yield "hosts", f"{name}: {reason}"


def _named_anew(olds: Props, news: Props) -> dict[str, str]:
    """Lines of `reinstall` that are new since the last `up` that succeeded: only these mean something."""
    before = olds.get("reinstall") or {}
    return {name: who for name, who in (news.get("reinstall") or {}).items() if before.get(name) != who}


def _others(olds: Props, news: Props) -> Iterator[tuple[str, str]]:
    """Lines of `reinstall` that name another machine than the host."""
    for name, who in _named_anew(olds, news).items():
        host = news["hosts"].get(name, {})
        uuid, serial = host.get("uuid", ""), host.get("serial", "")
        if not (is_known(uuid) and is_known(serial)):
            continue
        if not Identity(uuid, serial).answers_to(who) or is_shared(who):
            what = f"reinstall.{name} names {who}, the host is {named(Identity(uuid, serial))}"
            yield "reinstall", f"{what}; name what is its own, or take the line out"


def still_installed(recorded: Mapping[str, Record], hosts: Mapping[str, HostSpec]) -> dict[str, Record]:
    """The records that hold: of hosts that are still wanted and still the same machine."""
    return {
        name: record
        for name, record in recorded.items()
        if name in hosts and hosts[name].machine in ("", record["uuid"])
    }


def _provision(spec: HostProvisioningSpec, olds: Props, again: Mapping[str, str]) -> Props:
    """Install what has no record, and anew what is named; the outputs.

    Raises:
        ProvisioningError: At least one host failed; the others are found installed by the next run.
    """
    outs: Props = {"installed": still_installed(olds.get("installed") or {}, spec.hosts)}
    anew = {name: who for name, who in again.items() if name in outs["installed"]}
    pending = [name for name in spec.hosts if name in anew or name not in outs["installed"]]
    for key in ("steps", "requests"):
        outs[key] = {name: value for name, value in (olds.get(key) or {}).items() if name in outs["installed"]}
    if pending:
        recipe = _recipe(spec)
        with _shelf(spec) as shelf, IsoMedia(shelf, recipe, progress.row(spec.urn)) as media:
            is_up = _api_probe(spec, recipe) if spec.role == "control-plane" else _answers
            ways = {name: _installation(spec, name, media, is_up, anew) for name in pending}
            failed = roll_out(ways, clock=SYSTEM_CLOCK)
        if failed:
            raise _summary(spec, failed, anew.keys() - failed.keys())
        at = datetime.now(UTC).isoformat(timespec="seconds")
        for name, way in ways.items():
            outs["installed"][name] = {"uuid": spec.hosts[name].machine, "iso_sha256": way.iso_sha256, "at": at}
            outs["steps"][name], outs["requests"][name] = way.seconds, way.world.bmc.requests
    return outs


def _shelf(spec: HostProvisioningSpec) -> AbstractContextManager[Shelf]:
    if spec.media_url:
        return nullcontext(WebServer(spec.media_url, spec.stack))
    return MediaServer(spec.media_address, spec.media_port)


def _recipe(spec: HostProvisioningSpec) -> Recipe:
    return Recipe(
        stack=spec.stack,
        payload_name=PAYLOAD_NAMES[spec.role],
        payload_sha256=spec.payload_sha256,
        base_sha256=spec.base_iso_sha256,
        base_url=spec.base_iso_url,
        ours=spec.ours,
        keyfiles=spec.keyfiles,
        devices={name: host.root_device for name, host in spec.hosts.items()},
    )


def _installation(
    spec: HostProvisioningSpec, name: str, media: IsoMedia, is_up: Callable[[Host], bool], anew: Mapping[str, str]
) -> Installation:
    wanted, bmc = spec.hosts[name], _bmc(spec, name)
    world = World(bmc, SYSTEM_CLOCK, media, is_up, _row(spec, name), lock.held(bmc.url))
    # The disk of a host that runs is wiped for the machine alone that the operator names.
    host = Host(name, anew.get(name, wanted.machine), wanted.address, anew=name in anew)
    # A thousand servers tell as much as a hundred.
    return Installation(host, world, spec.deadline_s, max(HEARTBEAT_S, len(spec.hosts) / 10))


def _bmc(spec: HostProvisioningSpec, name: str) -> SushyBmc:
    host = spec.hosts[name]
    return SushyBmc(
        Access(
            host.bmc_url,
            host.username,
            spec.passwords[name],
            host.ca or spec.ca,
            host.fingerprint,
            host.verify,
            host.session,
        )
    )


def _power(spec: HostProvisioningSpec, name: str) -> Power | None:
    """None: it cannot be seen, which the host's own refresh says."""
    bmc = _bmc(spec, name)
    try:
        with lock.held(bmc.url):
            return bmc.power()
    except OkdBaremetalError:
        return None
    finally:
        bmc.close()


def _row(spec: HostProvisioningSpec, name: str) -> Report:
    """The host's own row, or a line in this resource's."""
    if urn := spec.rows.get(name):
        return progress.row(urn)
    report = progress.row(spec.urn)
    return lambda line: report(f"{name}: {line}")


def _api_probe(spec: HostProvisioningSpec, recipe: Recipe) -> Callable[[Host], bool]:
    ca_pem = api_ca(recipe.payload, read_kubeconfig(spec.stack))
    ready = Endpoint(API_PORT, "/readyz", spec.api_name, ca_pem, PROBE_S)
    return lambda host: ready.is_ready(host.address)


def _answers(host: Host) -> bool:
    return bool(macs_at(host.address, wait_s=NEIGHBOUR_S))


def _summary(spec: HostProvisioningSpec, failed: Mapping[str, Exception], done: Set[str]) -> ProvisioningError:
    """A failed update leaves no record: what `reinstall` has done already it would do again."""
    lines = "".join(f"\n  {name}: {error}" for name, error in failed.items())
    what = f"{len(failed)} of {len(spec.hosts)} {spec.role} hosts did not get there:{lines}\n"
    rest = "Hosts that are not named here run; the next `pulumi up` goes on with these"
    if done:
        rest += f". Before it, take out of `reinstall` what was reinstalled already: {', '.join(sorted(done))}"
    return ProvisioningError(what + rest)
