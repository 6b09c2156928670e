"""The marks of the fields of every spec, proven by what a change of each field does."""

import base64
import inspect
from contextlib import nullcontext
from dataclasses import dataclass, replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any, get_args

import pulumi
import pytest

from assets.ignition import composed_sha256
from base.spec import INPUT_ONLY, MACHINE, REPLACES, Spec, marked, secret_inputs, state_names
from boot_media import host_isos as isos
from boot_media.host_isos import IsoMedia
from boot_media.iso import Iso
from boot_media.media_server import MediaServer
from boot_media.netboot import FILES, LiveFiles
from boot_media.web_server import WebServer
from cluster.plan import Role
from providers.bootstrap_vm import provider as vm_provider
from providers.bootstrap_vm.model import BootstrapVmSpec
from providers.bootstrap_vm.provider import BootstrapVmProvider
from providers.host_provisioning import composition
from providers.host_provisioning.model import INTO_ISO, HostProvisioningSpec, HostSpec
from providers.pulumi.dynamic import BaremetalResource, Provider, inputs_of
from testing import clusters
from testing.changes import changes
from testing.fakes.clock import FakeClock
from testing.fakes.hypervisor import FakeHypervisor
from testing.specs import provider_classes, specs_of

PROVIDERS = {each.spec: each for each in provider_classes()}
SPECS = {type(spec): spec for name in ("static", "managed") for spec in specs_of(clusters.plan(name))}
"""A spec of each resource. That of `HostProvisioning` is of compute."""
ROLE = next(
    spec
    for spec in specs_of(clusters.plan("managed"))
    if isinstance(spec, HostProvisioningSpec) and spec.role is Role.CONTROL_PLANE
)
"""Servers that boot from the network, and one with a virtual CD."""
VM = next(spec for spec in specs_of(clusters.plan("managed")) if isinstance(spec, BootstrapVmSpec))
every_spec = pytest.mark.parametrize("spec", SPECS.values(), ids=lambda spec: type(spec).__name__)


@dataclass(frozen=True)
class Wrapped:
    """What `pulumi.Output.secret` wraps."""

    value: Any


@pytest.fixture(autouse=True)
def secrets(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pulumi.Output, "secret", Wrapped)


def props(spec: Spec) -> dict[str, Any]:
    """Return the inputs as a provider receives them."""
    given: dict[str, Any] = inputs_of(spec)
    return {name: value.value if isinstance(value, Wrapped) else value for name, value in given.items()}


def test_every_resource_has_a_spec_of_a_plan() -> None:
    assert SPECS.keys() == PROVIDERS.keys()


def test_a_resource_has_the_spec_and_the_outputs_of_its_provider() -> None:
    resources = {each.provider: each for each in BaremetalResource.__subclasses__()}
    assert {*resources} == {*PROVIDERS.values()}
    for provider, resource in resources.items():
        assert get_args(resource.__orig_bases__[0]) == (provider.spec,)  # type: ignore[attr-defined]
        assert inspect.get_annotations(resource).keys() <= provider.outs.model_fields.keys()


@every_spec
def test_an_input_is_secret_if_and_only_if_it_holds_secret_text(spec: Spec) -> None:
    seen = set[str]()
    for each in (spec, *(other for _, other in changes(spec))):
        secret = {name for name, value in inputs_of(each).items() if isinstance(value, Wrapped)}
        assert secret == {
            in_state
            for name, in_state in state_names(type(each)).items()
            if "SecretStr(" in repr(getattr(each, name))
        }
        seen |= secret
    assert seen == {*secret_inputs(type(spec))}


@every_spec
def test_a_change_replaces_a_resource_only_by_its_marked_inputs(spec: Spec) -> None:
    provider, seen = PROVIDERS[type(spec)](), set[str]()
    for name, other in changes(spec):
        replaces = provider.diff("id", props(spec), props(other)).replaces
        assert replaces in ([], [name])
        seen |= {*(replaces or ())}
    assert seen == {*marked(type(spec), REPLACES)}


@every_spec
def test_outputs_repeat_all_inputs_but_large_secrets_and_make_a_spec(spec: Spec) -> None:
    provider: Provider[Any, Any] = PROVIDERS[type(spec)]()
    echoed = provider._echoed(props(spec), provider.outs())
    omitted = {*state_names(type(spec)).values()} - echoed.keys()
    assert omitted == {*marked(type(spec), INPUT_ONLY)}
    assert omitted <= {*secret_inputs(type(spec))}
    assert provider.known_spec(echoed) is not None


@every_spec
def test_at_most_one_input_names_the_machine(spec: Spec) -> None:
    named = [getattr(spec, name) for name in marked(type(spec), MACHINE)]
    assert len(named) <= 1
    assert all(named)


class Maker:
    """Makes ISOs whose digests cover what those of `IsoMaker` cover."""

    def __init__(self, base: Path, sha256: str, *_: object) -> None:
        self.sha256 = sha256

    def make(self, *, over_network: bool = False, **content: Any) -> Iso:
        live = LiveFiles(dict.fromkeys(FILES, (0, 0)), "") if over_network else None
        return Iso(Path(), 0, (), repr((self.sha256, sorted(content.items()))), live)

    def close(self) -> None:
        pass


@pytest.fixture
def unserved(monkeypatch: pytest.MonkeyPatch) -> None:
    """Have ISOs made without tools, and served by nobody."""
    monkeypatch.setattr(isos, "IsoMaker", Maker)
    monkeypatch.setattr(isos, "find_coreos_installer", Path)
    monkeypatch.setattr(isos, "ensure_base", lambda *_: Path())
    monkeypatch.setattr(isos, "read_payload", lambda stack, name, sha256: sha256.encode())
    nobody = SimpleNamespace(shutdown=lambda: None, server_close=lambda: None)
    monkeypatch.setattr(MediaServer, "_listen", lambda _: nobody)
    monkeypatch.setattr(WebServer, "publish", lambda self, host, iso, **_: f"{self.url}/{iso.url_path(host)}")


def made(spec: HostProvisioningSpec) -> dict[str, str]:
    """Return the digest of each host's ISO; empty if its inputs are incomplete."""
    digests = dict.fromkeys(spec.hosts, "")
    with composition.image_server_of(spec) as server, IsoMedia(server, composition.recipe_of(spec), print) as media:
        for host in spec.hosts.keys() & spec.own_ignition.keys():
            media._make(host)
            digests[host] = media.digest(host)
    return digests


@pytest.mark.usefixtures("unserved")
def test_an_input_is_marked_if_and_only_if_it_goes_into_a_boot_iso() -> None:
    """The digest of the Ignition config stands for the two secret inputs that a state omits."""
    before, of_role = made(ROLE), [(name, other) for name, other in changes(ROLE) if name != "hosts"]
    went_in = {name for name, other in of_role if made(other) != before}
    marks = {name for name, other in of_role if other.into_iso != ROLE.into_iso}
    secret = {*marked(HostProvisioningSpec, INPUT_ONLY)}
    assert secret <= went_in
    assert marks == went_in - secret | {"ignition_sha256"}


@pytest.mark.usefixtures("unserved")
def test_a_host_s_input_is_marked_if_and_only_if_it_goes_into_its_iso() -> None:
    host, before = "okd-master-2", made(ROLE)
    of_host = [(name, ROLE.changed(hosts={**ROLE.hosts, host: other})) for name, other in changes(ROLE.hosts[host])]
    went_in = {name for name, other in of_host if made(other) != before}
    marks = {name for name, other in of_host if other.into_iso != ROLE.into_iso}
    assert went_in == marks == {*marked(HostSpec, INTO_ISO)}


@pytest.mark.parametrize("change", ["ours", "payload"])
def test_the_digest_of_an_ignition_config_stands_for_its_parts(change: str) -> None:
    parts = {"payload": "c2" * 32, "ours": "{}"}
    assert composed_sha256(*parts.values()) != composed_sha256(*{**parts, change: "x"}.values())


def test_the_ignition_config_of_a_server_has_its_keyfiles() -> None:
    spec = next(each for each in specs_of(clusters.plan("static")) if isinstance(each, HostProvisioningSpec))
    assert spec.keyfiles
    for host, keyfiles in spec.keyfiles.items():
        for text in keyfiles.values():
            assert (
                base64.b64encode(text.get_secret_value().encode()).decode()
                in spec.own_ignition[host].get_secret_value()
            )


class Hypervisor(FakeHypervisor):
    """Has each base volume, with the digest that is wanted."""

    def __init__(self, wanted: str) -> None:
        super().__init__(FakeClock())
        self.wanted = wanted

    def volume_path(self, pool: str, volume: str) -> str:
        return f"/{pool}/{volume}"

    def volume_sha256(self, pool: str, volume: str) -> str:
        return self.wanted


def built(spec: BootstrapVmSpec, monkeypatch: pytest.MonkeyPatch) -> object:
    """Return the domain and the volumes that the provider has made."""
    hypervisor = Hypervisor(spec.base_sha256)
    monkeypatch.setattr(vm_provider, "connected", lambda _: nullcontext(hypervisor))
    monkeypatch.setattr(vm_provider, "read_bootstrap", lambda stack, sha256, now: sha256.encode())
    monkeypatch.setattr(vm_provider, "all_macs_on", lambda *_: frozenset())
    BootstrapVmProvider().create(props(spec))
    return replace(hypervisor.defined[spec.name], build=""), hypervisor.volumes


def test_an_input_is_marked_if_and_only_if_a_vm_is_built_from_it(monkeypatch: pytest.MonkeyPatch) -> None:
    """A new name makes a new resource. The digest of the Ignition config stands for its parts."""
    before = built(VM, monkeypatch)
    goes_in = {name for name, other in changes(VM) if built(other, monkeypatch) != before}
    marks = {name for name, other in changes(VM) if other.build != VM.build}
    assert {"name"} <= goes_in & {*marked(BootstrapVmSpec, REPLACES)}
    assert {"ours", "payload_sha256"} <= goes_in
    assert marks == goes_in - {"name", "ours", "payload_sha256"} | {"ignition_sha256"}
