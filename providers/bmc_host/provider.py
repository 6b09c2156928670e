"""RPC shell of `BmcHost`."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, replace
from typing import ClassVar

from pydantic import BaseModel, ConfigDict

from cluster.values.bmc_url import BmcUrlError, parse_virtual_media_url
from providers.base import lock, progress
from providers.base.clock import SYSTEM_CLOCK
from providers.base.dynamic import Props, Provider, is_known
from providers.base.errors import BmcTimeoutError, BmcTransientError, BusyError
from providers.bmc_host.engine import BmcHostEngine, Found, consent_command
from wires.redfish.access import Access
from wires.redfish.bmc import Identity
from wires.redfish.identity import named, usable
from wires.redfish.sushy_bmc import SushyBmc

READ_DEADLINE_S = 30.0  # of a refresh: an unreachable BMC must not hold up the others


class BmcHostSpec(BaseModel):
    """Inputs as the provider gets them."""

    model_config = ConfigDict(frozen=True, extra="ignore")

    host: str
    bmc_url: str
    username: str
    password: str
    ca: str = ""
    fingerprint: str = ""
    verify: bool = True
    session: bool = False
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
            outs = _outs(engine, identity, found)
        return usable(identity), outs

    def _update(self, id_: str, olds: Props, news: Props) -> Props:
        spec = BmcHostSpec.model_validate(news)
        with _engine(spec, _recorded(olds)) as engine:
            if spec.consent != olds.get("consent") and engine.is_replaced():
                old = named(_recorded(olds))
                progress.warnings(spec.urn)(f"in the place of {old}, which is left as it is: switch it off")
                identity, found = replace(engine, recorded=None).take_over()
            else:
                identity, found = engine.identify(), Found.from_outs(olds)
            return _outs(engine, identity, found)

    def _read(self, id_: str, props: Props) -> Props | None:
        spec = BmcHostSpec.model_validate(props).model_copy(update={"deadline_s": READ_DEADLINE_S})
        found, warn = Found.from_outs(props), progress.warnings(spec.urn)
        try:
            with _engine(spec, _recorded(props)) as engine:
                outs = _outs(engine, engine.identify(), found)
                # Power and media change as the cluster is installed: shown, and kept out of the state.
                line, changed = engine.look(found)
        except (BmcTimeoutError, BmcTransientError, BusyError) as error:
            warn(f"kept as it was known: {error}")
            return {}
        progress.row(spec.urn)(line)
        if changed:
            warn(f"not as it was left: {changed}")
        return outs

    def _delete(self, id_: str, props: Props) -> None:
        with _engine(BmcHostSpec.model_validate(props), _recorded(props)) as engine:
            engine.release(Found.from_outs(props))


def _outs(engine: BmcHostEngine, identity: Identity, found: Found) -> Props:
    return {**asdict(identity), "bmc_version": engine.bmc_version(), "found": found.to_outs()}


def _recorded(outs: Props) -> Identity:
    return Identity(**{key: str(outs.get(key) or "") for key in ("uuid", "serial", "model", "manufacturer")})


@contextmanager
def _engine(spec: BmcHostSpec, recorded: Identity | None = None) -> Iterator[BmcHostEngine]:
    bmc = SushyBmc(
        Access(spec.bmc_url, spec.username, spec.password, spec.ca, spec.fingerprint, spec.verify, spec.session)
    )
    report = progress.row(spec.urn)
    try:
        with lock.held(bmc.url):
            yield BmcHostEngine(bmc, SYSTEM_CLOCK, report, spec.host, spec.consent, spec.deadline_s, recorded)
    finally:
        bmc.close()


def _system(address: object) -> str:
    unnamed = "/redfish/v1/Systems/<id>"
    try:
        url = parse_virtual_media_url(str(address))
    except BmcUrlError:
        return unnamed
    return f"{url.base}{url.system_id or unnamed}"
