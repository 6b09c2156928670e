"""Our own options: the stack's config, typed. Their descriptions stand in Pulumi.yaml."""

from ipaddress import IPv4Address
from typing import Literal

from pydantic import BaseModel, ConfigDict, Field

SHA256 = r"^[0-9a-f]{64}$"


class Option(BaseModel):
    """One object of the stack's config: unknown keys refused."""

    model_config = ConfigDict(frozen=True, extra="forbid")


class PayloadDigests(Option):
    """SHA-256 of each file of the payload directory `stacks/<stack>/payload/`."""

    bootstrap: str = Field(pattern=SHA256)
    master: str = Field(pattern=SHA256)
    worker: str = Field(pattern=SHA256)


class Bootstrap(Option):
    """The bootstrap VM."""

    address: IPv4Address
    pool: str = "default"
    base_volume: str
    memory_mib: int = Field(6144, ge=256)
    vcpus: int = Field(4, ge=1)
    emulated: bool = Field(default=False, description="True: QEMU's emulation instead of KVM (rehearsals).")


class BaseIso(Option):
    """The CoreOS live ISO that hosts are installed from."""

    sha256: str = Field(pattern=SHA256)
    url: str = ""


class Media(Option):
    """Virtual media for the BMCs, served by the program itself while it works."""

    address: IPv4Address
    port: int = Field(8080, ge=1, le=65535)
    base_iso: BaseIso


class Handoff(Option):
    """Times of the VIP handoff, in seconds."""

    stable_s: float = Field(30, gt=0)
    soak_s: float = Field(30, gt=0)
    deadline_s: float = Field(1800, gt=0)
    shutdown_s: float = Field(300, gt=0, description="For the bootstrap VM's graceful end; then it is forced off.")


class Deadlines(Option):
    """How long a step may take, in seconds."""

    bmc_s: float = Field(300, gt=0)
    bootstrap_s: float = Field(1800, gt=0)
    host_s: float = Field(3600, gt=0)
    ingress_s: float = Field(1800, gt=0)


class Options(Option):
    """The stack's config."""

    phase: Literal["bootstrap", "production"] = "bootstrap"
    payload: PayloadDigests
    node_addresses: dict[str, tuple[IPv4Address, ...]]
    consent: dict[str, str] = {}
    bootstrap: Bootstrap
    media: Media
    bmc_ca: str = Field("", description="PEM of the CA that signed the BMCs' certificates; empty: the system's CAs.")
    handoff: Handoff = Handoff()
    deadlines: Deadlines = Deadlines()
    destroyable: bool = False
    import_production: bool = False
