"""This program's options: the stack's config, typed. Pulumi.yaml describes them."""

from dataclasses import dataclass
from typing import Annotated, Any, Literal, Self, get_origin

from pydantic import (
    BeforeValidator,
    ConfigDict,
    Field,
    IPvAnyAddress,
    SecretStr,
    model_validator,
)
from pydantic_core import PydanticCustomError

from base.shapes import FIX, in_words
from base.spec import Model
from cluster.option_types import (
    BY_DIGEST_OR_EMPTY,
    ONE_BY_DIGEST,
    SHA256,
    SHA256_OR_EMPTY,
    WEB_FOLDER,
    DiskNames,
    Fingerprint,
    MachineName,
    NotifyUrl,
    OneOrMore,
    PullSecret,
    Runtime,
    Severity,
    Switch,
    Transport,
    Wait,
)
from cluster.values.architecture import Architecture
from cluster.values.phase import Phase
from cluster.values.platform import ClusterPlatform
from cluster.values.semver import FORM as VERSION
from cluster.values.snapshots import SNAPSHOTS
from cluster.values.vrrp import HIGHEST_VRID, Policy

PLACEHOLDER = "0" * 64
"""In place of a value that is encrypted: it fits a text and a digest."""


@dataclass(frozen=True)
class Placeholder:
    """Mark of a field without a default: the value in place of one that is wrong or missing; see `known_options`."""

    value: Any
    fix: str = ""
    """The command that sets it, if there is one."""


class Option(Model):
    """One object of the stack's config: unknown keys refused."""

    model_config = ConfigDict(extra="forbid")


class PayloadDigests(Option):
    """SHA-256 of each file of the payload directory `stacks/<stack>/payload/`."""

    bootstrap: str = Field(pattern=SHA256)
    master: str = Field(pattern=SHA256)
    arbiter: str = Field("", pattern=SHA256_OR_EMPTY, description="Required if the cluster has an arbiter.")
    worker: str = Field(pattern=SHA256)


class Login(Option):
    """The login to one BMC; what it lacks is that of the install-config."""

    username: str = Field("", min_length=1)
    password: SecretStr = Field(SecretStr(""), min_length=1)
    session: bool = Field(default=False, description="True: use a Redfish session, for a BMC that refuses Basic.")


class Trust(Option):
    """The certificate to trust for one BMC: by its CA, or by its fingerprint."""

    ca: str = Field("", description="PEM of the CA that signed its certificate.")
    sha256: Fingerprint = Field("", description="SHA-256 of the certificate itself, with any signer.")
    legacy_tls: bool = Field(False, description="Whether TLS below 1.2, RSA key exchange and short keys will do.")

    @model_validator(mode="after")
    def _one_of_both(self) -> Self:
        if bool(self.ca) == bool(self.sha256):
            what = "both ca and sha256" if self.ca else "neither ca nor sha256"
            raise PydanticCustomError("one_of_both", what, {FIX: "write either ca or sha256"})
        return self


class Vrids(Option):
    """VRIDs. None: the one that follows from the cluster's name."""

    api: int | None = Field(None, ge=1, le=HIGHEST_VRID)
    ingress: int | None = Field(None, ge=1, le=HIGHEST_VRID)
    provisioning: int | None = Field(None, ge=1, le=HIGHEST_VRID)


class Vrrp(Option):
    """How machines claim the VIPs."""

    policy: Policy = Field(
        "release", description="release: the API VIP moves when the bootstrap VM releases it; preempt: by itself."
    )
    api: Transport = Field("unicast", description="Transport of VRRP between the machines that claim the API VIP.")
    ingress: Transport = Field(
        "multicast", description="The same for the Ingress VIP; only a spare with an address joins unicast later."
    )


class Images(Option):
    """Container images of the services on the machines: those of a release, or each by its name."""

    release: str = Field(
        "", pattern=BY_DIGEST_OR_EMPTY, description="A release image by digest; the machines ask it for the others."
    )
    keepalived: str = ""
    haproxy: str = ""
    coredns: str = ""

    @model_validator(mode="after")
    def _one_way(self) -> Self:
        named = [name for name, image in self if image]
        if named not in ([], ["release"], ["keepalived", "haproxy", "coredns"]):
            fix = "write only release, or keepalived, haproxy and coredns"
            raise PydanticCustomError(
                "one_way", "incomplete or mixed: {named}", {"named": " and ".join(named), FIX: fix}
            )
        return self


class Release(Option):
    """A release to which a cluster is upgraded."""

    version: str = Field(pattern=in_words(f"^{VERSION}$", "a version such as 4.21.3 or 4.21.0-okd-scos.2"))
    image: str = Field(pattern=ONE_BY_DIGEST, description="Its release image, by digest.")


def _none_if_empty(value: object) -> object:
    return value or None


class BootstrapAddress(Model):
    """The bootstrap VM's address."""

    address: OneOrMore = Field((), description="One address, or one per family of the API VIP.")


class Bootstrap(BootstrapAddress, extra="forbid"):
    """The bootstrap VM."""

    pool: str = Field("default", min_length=1)
    base_volume: str = Field("", description="A volume of the pool; required, unless provisioner.manage is true.")
    base_sha256: str = Field("", pattern=SHA256_OR_EMPTY, description="SHA-256 of that volume; empty: not verified.")
    disk_gib: int = Field(32, ge=1, description="Virtual size of the VM's disk, thin; not below the base volume's.")
    memory_mib: int = Field(6144, ge=256)
    vcpus: int = Field(4, ge=1)
    emulated: bool = Field(default=False, description="True: QEMU's emulation instead of KVM (rehearsals).")


class BaseImage(Option):
    """The backing image of the bootstrap VM's disk: a qcow2, not compressed."""

    source: str = Field(
        pattern=in_words(r"^(/.|https?://[^/@]+(/|$))", "an absolute path, or an http or https URL without login,"),
        description="Path on this machine, or URL.",
    )
    sha256: str = Field(pattern=SHA256)

    @property
    def is_local(self) -> bool:
        """Whether the source is a path, not a URL."""
        return self.source.startswith("/")

    def volume(self, cluster: str) -> str:
        """Return the name of the image's volume. A changed image gets another volume."""
        return f"{cluster}-base-{self.sha256[:12]}.qcow2"


class ProvisionerOption(Option):
    """The provisioner's long-lived libvirt objects: pool, base volume, networks."""

    manage: bool = Field(default=False, description="True: this program makes them; False: they exist.")
    pool_path: str = Field("/var/lib/libvirt/okd-baremetal", pattern=in_words("^/.", "an absolute path"))
    base_image: BaseImage | None = None


class BaseIso(Option):
    """The CoreOS live ISO that the hosts of one architecture are installed from."""

    sha256: str = Field(pattern=SHA256)
    url: str = Field("", pattern=in_words(r"^([^/@]*|[^/@]*//[^/@]*(/.*)?)$", "a URL without login"))


class MediaSource(Model):
    """Where the boot media come from: this program while it works, or a web server of the site."""

    address: IPvAnyAddress | None = None
    port: int = Field(8080, ge=1, le=65535)
    url: str = Field("", pattern=WEB_FOLDER)
    plain_http: dict[str, bool] = Field(
        {}, description="True by host: its boot ISO goes over plain HTTP, also with a secret in its networkConfig."
    )

    def may_go_in_the_clear(self, host: str) -> bool:
        """Return whether the secrets in the boot ISO of a host may go over plain HTTP."""
        return self.plain_http.get(host, False)


class MediaOption(MediaSource, extra="forbid"):
    """The boot media, and how this program serves them."""

    tls: bool = Field(False, description="True: each virtual CD over TLS; False: those with a secret.")
    base_iso: BaseIso | None = Field(None, description="The one of amd64; required if a server is of amd64.")
    base_iso_arm64: BaseIso | None = Field(None, description="The one of arm64; required if a server is of arm64.")

    def goes_over_tls(self, host: str, *, has_secret: bool) -> bool:
        """Return whether this program serves the virtual CD of a host over TLS."""
        return not self.url and (self.tls or has_secret) and not self.may_go_in_the_clear(host)

    @property
    def base_isos(self) -> dict[Architecture, BaseIso]:
        """The base ISOs that are named. A plan's options name one for each architecture of its servers."""
        named = {Architecture.AMD64: self.base_iso, Architecture.ARM64: self.base_iso_arm64}
        return {architecture: iso for architecture, iso in named.items() if iso}

    @model_validator(mode="after")
    def _one_way(self) -> Self:
        if not self.address and not self.url:
            fix = "name address, or the url of a web server that has the boot ISOs"
            raise PydanticCustomError("missing", "neither address nor url", {FIX: fix})
        if self.url and self.model_fields_set & {"address", "port", "tls"}:
            fix = "remove address, port and tls, or url"
            raise PydanticCustomError("one_way", "both url, and address, port or tls", {FIX: fix})
        return self


class NetworkFindings(Option):
    """The severity of each finding on the network before a VIP is claimed or moved."""

    vip: Severity = Field("error", description="A machine that may not hold a VIP answers it.")
    vrid: Severity = Field("error", description="Another cluster advertises one of this cluster's VRIDs.")
    dhcp: Severity = Field(
        "error", description="The wrong DHCP server answers on the provisioning network, or none does."
    )
    dns: Severity = Field("warn", description="This machine's resolver does not resolve a name to its VIP.")


class Handoff(Option):
    """When the API VIP moves; times in seconds."""

    min_ready: int | None = Field(
        None, ge=1, description="Control-plane nodes that must be ready first; a majority or more. None: all."
    )
    stable_s: float = Field(30, gt=0)
    soak_s: float = Field(30, gt=0)
    deadline_s: float = Field(1800, gt=0)
    shutdown_s: float = Field(300, gt=0, description="For the bootstrap VM to shut down, before it is forced off.")


class Deadlines(Option):
    """The limits of single steps, in seconds."""

    bmc_s: float = Field(300, gt=0)
    bootstrap_s: float = Field(1800, gt=0)
    host_s: float = Field(3600, gt=0)
    ingress_s: float = Field(1800, gt=0)
    install_s: float = Field(3600, gt=0)
    shutdown_s: float = Field(900, gt=0)
    upgrade_s: float = Field(14400, gt=0)


class MachineOptions(Model):
    """The options that the machines' files depend on. All others may be missing."""

    node_addresses: dict[str, tuple[IPvAnyAddress, ...]] = Field(
        {}, description="The addresses that DHCP reserves for each server."
    )
    bootstrap: BootstrapAddress = BootstrapAddress()
    vrids: Vrids = Vrids()
    vrrp: Vrrp = Vrrp()
    platform: ClusterPlatform = Field(
        ClusterPlatform.NONE, description="The cluster's platform, fixed by the first `up`."
    )
    runtime: Runtime = "podman"
    images: Images = Field(Images(), description="What the machines run, by the release image of the payload.")
    media: MediaSource = MediaSource()


class BmcOptions(Model):
    """The options by which BMCs are reached, and their machines consented to. All others may be missing."""

    consent: dict[str, MachineName] = Field(
        {}, description="By `bmc consent`: UUID or serial. Each line ALLOWS THAT MACHINE'S DISK TO BE WIPED."
    )
    wipe_disks: dict[str, DiskNames] = Field(
        {}, description="Serial numbers or WWNs: each line ALLOWS THOSE DISKS OF THE HOST TO BE WIPED, if stale."
    )
    bmc_credentials: dict[str, Login] = Field(
        {}, description="The BMCs' logins, or a part of each, in place of those of the install-config."
    )
    bmc_trust: dict[str, Trust] = {}
    bmc_ca: str = Field(
        "", description="PEM of the BMCs' CA; empty: bmcVerifyCA of the install-config, else the system's CAs."
    )


_NO_PAYLOAD = dict.fromkeys(PayloadDigests.model_fields, PLACEHOLDER)


class Options(MachineOptions, BmcOptions, extra="forbid"):
    """The stack's config."""

    phase: Phase = Phase.BOOTSTRAP
    payload: Annotated[PayloadDigests, Placeholder(_NO_PAYLOAD, "`okd-baremetal payload STACK`")] = Field(
        description="By `okd-baremetal payload`: digests of what openshift-install wrote."
    )
    pull_secret: PullSecret = Field(SecretStr(""), description="In place of pullSecret in the install-config.")
    notify_url: NotifyUrl = Field(SecretStr(""), description="A web hook that gets a message when a run has ended.")
    reinstall: dict[str, MachineName] = {}
    power: Switch = Field("on", description="off: the cluster in production sleeps, with all its servers off.")
    bootstrap: Bootstrap = Field(Bootstrap(), description="The bootstrap VM.")
    provisioner: ProvisionerOption = ProvisionerOption()
    media: Annotated[MediaOption, Placeholder({"url": "https://placeholder.invalid"})] = Field(
        description="Where the BMCs fetch the boot ISOs, and what those are made from."
    )
    network_preflight: NetworkFindings = NetworkFindings()
    handoff: Handoff = Handoff()
    deadlines: Deadlines = Deadlines()
    snapshots: str = Field(
        "", pattern=SNAPSHOTS, description="Folder or bucket into which etcd is saved, each time as a new file."
    )
    upgrade: Annotated[Release | None, BeforeValidator(_none_if_empty)] = Field(
        None, description="The release that a cluster in production is upgraded to; never an older one."
    )
    approve_certificates: bool = True
    wait: Wait = "ingress"
    destroyable: bool = False
    import_production: bool = False

    @property
    def is_asleep(self) -> bool:
        """Whether the cluster is to sleep."""
        return self.power == "off"

    @property
    def protects_cluster(self) -> bool:
        """Whether neither the cluster nor a server of it may be deleted."""
        return self.phase is Phase.PRODUCTION and not self.destroyable


def _is_text(annotation: Any) -> bool:
    return get_origin(annotation) is Literal or (
        isinstance(annotation, type) and issubclass(annotation, str | SecretStr)
    )


TEXTS = tuple(name for name, field in Options.model_fields.items() if _is_text(field.annotation))
"""The options that are one text. Pulumi stores every other option as JSON."""
