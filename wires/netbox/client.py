"""Reads devices of NetBox with its own client, pynetbox, and the token of the environment."""

import os
import ssl
from collections.abc import Iterator, Mapping
from contextlib import closing
from typing import Any, TypeVar

import pynetbox
import requests
from pydantic import ValidationError
from requests.adapters import HTTPAdapter

from base.bounded_answer import TlsSocket, time_limit
from base.bounded_pools import POOLS
from base.errors import MISSHAPEN, ConfigError, Fault
from base.http_client import causes
from base.shapes import dotted
from base.spec import Model
from cluster.inventory.devices import Device
from wires.netbox.answers import AddressAnswer, DeviceAnswer, InterfaceAnswer
from wires.netbox.page import DevicePage

TOKEN = "NETBOX_TOKEN"  # noqa: S105 (its name)
TIMEOUT_S = 30
"""Limit of connect, and of each wait for a part of an answer."""
WHOLE_S = 120
"""Limit of all answers together."""
AT_ONCE = 50
"""Devices whose parts one request asks for, so that its line stays below the 8 KiB of nginx."""
OF_INTERFACE = "dcim.interface"
DENIED = (401, 403)
RIGHTS = f"make a token in NetBox whose user may view devices, interfaces and IP addresses; put it into {TOKEN}"
TRUST = "add its CA to the CAs of this machine, or name its PEM file in SSL_CERT_FILE"
FORWARDED = "have the proxy before NetBox send X-Forwarded-Proto and Host, as NetBox's documentation has it"
ADDRESS = "compare the address with that of NetBox's list of devices in your browser; then repeat the command"
A = TypeVar("A", bound=Model)


def read_devices(page: DevicePage) -> list[Device]:
    """Return the devices of a list, with their interfaces and primary IPs.

    Raises:
        ConfigError: There is no token, NetBox refuses it, does not answer, or answers something else.
    """
    token = os.environ.get(TOKEN, "").strip()
    if not token:
        fix = f"make a token in NetBox that may read: `read -rs {TOKEN} && export {TOKEN}`, then repeat the command"
        raise ConfigError(Fault(TOKEN, "not in the environment", fix))
    netbox = pynetbox.api(page.base, token=token)
    with closing(netbox.http_session), time_limit(WHOLE_S):
        _restrict(netbox.http_session, page.base)
        try:
            return [*_devices(netbox, page.filters)]
        except ValidationError as error:
            first = error.errors(include_input=False, include_url=False)[0]
            what, fix = f"an answer has another form than NetBox 4's: {dotted(first['loc'])}: {first['msg']}", ADDRESS
        except pynetbox.RequestError as error:
            what, fix = _refusal(error)
        except pynetbox.ContentError:
            what, fix = "the answer is no JSON", ADDRESS
        except (requests.RequestException, OSError) as error:
            what, fix = _no_answer(error)
        except MISSHAPEN as error:
            what, fix = f"an answer has another form than NetBox 4's ({type(error).__name__})", ADDRESS
    raise ConfigError(Fault(page.base, what.replace(token, "***"), fix))


class _Adapter(HTTPAdapter):
    """Verifies against this machine's CAs (or `SSL_CERT_FILE`), and keeps the limits of time."""

    def init_poolmanager(self, connections: int, maxsize: int, block: bool = False, **kwargs: Any) -> None:
        context = ssl.create_default_context()
        context.sslsocket_class = TlsSocket
        super().init_poolmanager(connections, maxsize, block, **kwargs, ssl_context=context)
        self.poolmanager.pool_classes_by_scheme = POOLS

    def cert_verify(self, conn: Any, url: str, verify: Any, cert: Any) -> None:
        """Leave the context as it is: requests would add the CAs of certifi."""

    def send(self, request: requests.PreparedRequest, *args: Any, **kwargs: Any) -> requests.Response:
        return super().send(request, *args, **{**kwargs, "timeout": TIMEOUT_S})


def _restrict(session: requests.Session, base: str) -> None:
    """Have the token go nowhere else: `next` may name http:// behind a proxy, and .netrc would take its place."""
    session.trust_env = False
    session.max_redirects = 0
    session.adapters.clear()
    session.mount(f"{base}/", _Adapter())


def _devices(netbox: Any, filters: Mapping[str, list[str]]) -> Iterator[Device]:
    found = _read(netbox.dcim.devices, filters, DeviceAnswer)
    for start in range(0, len(found), AT_ONCE):
        some = found[start : start + AT_ONCE]
        of_them = {"device_id": [str(it.id) for it in some]}
        interfaces = _read(netbox.dcim.interfaces, of_them, InterfaceAnswer)
        addresses = _read(netbox.ipam.ip_addresses, of_them, AddressAnswer)
        carrying = {
            it.address: it.assigned_object_id
            for it in addresses
            if it.assigned_object_type == OF_INTERFACE and it.assigned_object_id is not None
        }
        for device in some:
            own = [it.interface() for it in interfaces if it.device.id == device.id]
            ids = {it.id for it in own}
            yield device.device(own, {address: each for address, each in carrying.items() if each in ids})


def _read(endpoint: Any, filters: Mapping[str, list[str]], form: type[A]) -> list[A]:
    """Return a whole list, page by page. A record would be read again for what it lacks, its dictionary is not."""
    return [form.model_validate(dict(record)) for record in endpoint.filter(**filters)]


def _refusal(error: pynetbox.RequestError) -> tuple[str, str]:
    """Return the status of a refusal and the reason that NetBox gives in `detail`; and the fix."""
    answer = error.req
    try:
        detail = answer.json()["detail"]
    except MISSHAPEN:
        detail = ""
    reason = f": {detail}" if isinstance(detail, str) and detail else ""
    what = f"HTTP {answer.status_code}{reason}"
    return (f"{what}, with the {TOKEN}", RIGHTS) if answer.status_code in DENIED else (what, ADDRESS)


def _no_answer(error: Exception) -> tuple[str, str]:
    """Return why there is no answer, and the fix."""
    if isinstance(error, requests.exceptions.InvalidSchema):
        return "the next page of a list has an address outside it, to which the token is not sent", FORWARDED
    if isinstance(error, requests.exceptions.TooManyRedirects):
        return "it redirects, and the token is sent nowhere else", ADDRESS
    for cause in causes(error):
        if isinstance(cause, ssl.SSLCertVerificationError):
            return f"its certificate is not trusted: {cause.verify_message}", TRUST
    reason = next((it for it in causes(error) if isinstance(it, OSError) and it.strerror), None)
    return f"no answer ({reason.strerror if reason else type(error).__name__})", ADDRESS
