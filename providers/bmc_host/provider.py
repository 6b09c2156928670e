"""RPC shell of `BmcHost`."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import ClassVar

from pydantic import BaseModel, ConfigDict

from cluster.bmc_url import BmcUrlError, parse_virtual_media_url
from providers import lock, progress
from providers.bmc_host.engine import BmcHostEngine, Found, consent_command
from providers.clock import SYSTEM_CLOCK
from providers.dynamic import Props, Provider, is_known
from providers.errors import BmcIdentityError, BmcTimeoutError, BmcTransientError
from providers.redfish.access import Access
from providers.redfish.bmc import Identity
from providers.redfish.sushy_bmc import SushyBmc

READ_DEADLINE_S = 30.0  # of a refresh: an unreachable BMC must not hold up the others


class BmcHostSpec(BaseModel):
    """Inputs as the provider gets them."""

    model_config = ConfigDict(frozen=True, extra="ignore")

    host: str
    bmc_url: str
    username: str
    password: str
    ca: str = ""
    verify: bool = True
    consent: str = ""
    deadline_s: float = 300
    running: bool = False
    urn: str = ""


class BmcHostProvider(Provider):
    """Create takes a server over, update logs in and compares, read looks, delete leaves it off."""

    replace_on: ClassVar[tuple[str, ...]] = ("host",)

    def _problems(self, olds: Props, news: Props) -> list[tuple[str, str]]:
        found: list[tuple[str, str]] = []
        address, consent, host = news.get("bmc_url"), news.get("consent"), news.get("host")
        if isinstance(address, str):
            try:
                parse_virtual_media_url(address)
            except BmcUrlError as error:
                found.append(("bmc_url", str(error)))
        if is_known(consent) and is_known(host) and not str(consent or "").strip():
            command = consent_command(str(host), "<UUID>")
            what = f"consent.{host} is missing: it names the one machine whose disk may be wiped"
            how = f"UUID or serial as the BMC reports it (GET {_system(address)}, or the sticker)"
            found.append(("consent", f"{what}. Run: {command}, with its {how}"))
        return found

    def _create(self, props: Props) -> tuple[str, Props]:
        spec = BmcHostSpec.model_validate(props)
        with _engine(spec) as engine:
            identity, found = engine.record() if spec.running else engine.take_over()
        return identity.uuid or identity.serial, {**_outs(identity), "found": found.to_outs()}

    def _update(self, id_: str, olds: Props, news: Props) -> Props:
        with _engine(BmcHostSpec.model_validate(news)) as engine:
            identity = engine.identify()
        _must_be(id_, identity, engine)
        return {**_outs(identity), "found": Found.from_outs(olds).to_outs()}

    def _read(self, id_: str, props: Props) -> Props | None:
        spec = BmcHostSpec.model_validate(props).model_copy(update={"deadline_s": READ_DEADLINE_S})
        try:
            with _engine(spec) as engine:
                identity = engine.identify()
                _must_be(id_, identity, engine)
                # Power and media change as the cluster is installed: shown, and kept out of the state.
                engine.report(engine.look())
        except (BmcTimeoutError, BmcTransientError) as error:
            print(f"{spec.host}: kept as it was known: {error}", flush=True)
            return {}
        return _outs(identity)

    def _delete(self, id_: str, props: Props) -> None:
        with _engine(BmcHostSpec.model_validate(props)) as engine:
            engine.release(Found.from_outs(props))


def _outs(identity: Identity) -> Props:
    return {
        "uuid": identity.uuid,
        "serial": identity.serial,
        "model": identity.model,
        "manufacturer": identity.manufacturer,
        "bios_version": identity.bios_version,
    }


def _must_be(id_: str, identity: Identity, engine: BmcHostEngine) -> None:
    """A changed consent must not turn a recorded host into another machine without a replacement."""
    if not identity.answers_to(id_):
        what = f"the record is of {id_}, the BMC is that of UUID {identity.uuid}"
        hint = f"To take the new machine in its place: pulumi up --target-replace '*::{engine.host}'"
        raise BmcIdentityError(what, where=f"{engine.host} ({engine.bmc.url})", hint=hint)


@contextmanager
def _engine(spec: BmcHostSpec) -> Iterator[BmcHostEngine]:
    bmc = SushyBmc(Access(spec.bmc_url, spec.username, spec.password, spec.ca, verify=spec.verify))
    report = progress.row(spec.urn)
    try:
        with lock.held(bmc.url):
            yield BmcHostEngine(bmc, SYSTEM_CLOCK, report, spec.host, spec.consent, spec.deadline_s)
    finally:
        bmc.close()


def _system(address: object) -> str:
    unnamed = "/redfish/v1/Systems/<id>"
    try:
        url = parse_virtual_media_url(str(address))
    except BmcUrlError:
        return unnamed
    return f"{url.base}{url.system_id or unnamed}"
