"""Scripted faults of a BMC: which requests they affect, how often, and what the BMC does instead."""

import asyncio
import json
import re
from collections.abc import Callable, Coroutine
from dataclasses import dataclass, field, replace
from typing import Any, Protocol

from testing.fakes.fleet.http import Answer, Connection, Request
from testing.fakes.fleet.machine import Machine
from testing.fakes.fleet.parts import Refusal
from testing.fakes.fleet.service import Service
from testing.fakes.fleet.writes import refuse

ALWAYS = -1
HUGE = 64 << 20
BLOCK = 1 << 16
FOLLOWED = "?redirected"
PAGE = b"<html><body>The service is starting</body></html>"


@dataclass
class Fault:
    """One line of the script. A request gets the first fault that matches and is not used up.

    Args:
        match: Regular expression to search for in `METHOD path`.
        kind: A name in `KINDS`.
        times: Number of requests that it affects; ALWAYS for all.
        skip: Number of matching requests that pass before it begins.
        applied: Whether the request takes effect first, so that only its answer is lost or replaced.
        status: Status of the kinds `status` and `redirected`, and of a BMC that starts up after `reboot`.
        headers: Headers of `status`; for `fussy`, those of a request that the BMC does not accept.
        body: JSON document of `status`; None for a Redfish error.
        text: Body of `status` in place of a document; None for a document.
        says: For `says`, properties that replace those of the real answer; for `stores`, those of the request.
        url: For `inserted`, the image that another client inserts; for `redirected`, the server that it
            names; empty: itself.
        around: For `wrapped`, the bytes before and after the real answer, as text in Latin-1.
        every_s: For `drip`, seconds between two bytes.
        connections: For `reboot`, number of connections to reset before it listens again.
        requests: For `reboot`, number of requests that it then answers with `status`.
        keeps: For `reboot`, whether media and boot override stay.
    """

    match: str
    kind: str
    times: int = ALWAYS
    skip: int = 0
    applied: bool = False
    status: int = 503
    headers: dict[str, str] = field(default_factory=dict)
    body: Any = None
    text: str | None = None
    says: dict[str, Any] = field(default_factory=dict)
    url: str = "http://192.0.2.9/another.iso"
    around: tuple[str, str] = ("", "")
    every_s: float = 0.02
    connections: int = 1
    requests: int = 2
    keeps: bool = True

    def __post_init__(self) -> None:
        if self.kind not in KINDS:
            raise ValueError(f"unknown kind of fault {self.kind}, wanted one of {', '.join(KINDS)}")

    def strikes(self, line: str) -> bool:
        """Whether the fault affects this request; counts it."""
        if not self.times or not re.search(self.match, line):
            return False
        if self.skip:
            self.skip -= 1
            return False
        self.times -= self.times > 0
        return True


class Struck(Protocol):
    """The BMC that a fault strikes."""

    machine: Machine
    service: Service

    def reboot(self, fault: Fault) -> None:
        """Restart as the fault describes it."""

    def run(self, work: Coroutine[None, None, None]) -> None:
        """Continue an answer in the background, while other requests are served."""


Play = Callable[[Fault, Struck, Connection, Request], None]


def _document(bmc: Struck, request: Request, fault: Fault) -> bytes:
    """Return the body of the real answer; carry out a write only if the fault is `applied`."""
    if request.method == "GET" or fault.applied:
        return bmc.service.answer(request).body() or b"{}"
    return b"{}"


def _apply(fault: Fault, bmc: Struck, request: Request) -> None:
    if fault.applied:
        bmc.service.answer(request)


def _reset(fault: Fault, bmc: Struck, connection: Connection, request: Request) -> None:
    _apply(fault, bmc, request)
    connection.reset()


def _close(fault: Fault, bmc: Struck, connection: Connection, request: Request) -> None:
    _apply(fault, bmc, request)
    connection.transport.close()


def _used(fault: Fault, bmc: Struck, connection: Connection, request: Request) -> None:
    if connection.answered:
        connection.reset()
        return
    connection.hide_end()
    connection.answer(bmc.service.answer(request))


def _hang(fault: Fault, bmc: Struck, connection: Connection, request: Request) -> None:
    _apply(fault, bmc, request)


def _status(fault: Fault, bmc: Struck, connection: Connection, request: Request) -> None:
    _apply(fault, bmc, request)
    if fault.text is not None:
        connection.send(fault.status, fault.text.encode(), fault.headers)
        return
    error = refuse(Refusal(fault.status, "Base.1.8.InternalError"), "by script").document
    connection.answer(Answer(fault.status, error if fault.body is None else fault.body, fault.headers))


def _truncated(fault: Fault, bmc: Struck, connection: Connection, request: Request) -> None:
    body = _document(bmc, request, fault)
    connection.send(200, body[: len(body) // 2])


def _short(fault: Fault, bmc: Struck, connection: Connection, request: Request) -> None:
    body = _document(bmc, request, fault)
    connection.send(200, body[: len(body) // 2], length=len(body))
    connection.transport.close()


def _malformed(fault: Fault, bmc: Struck, connection: Connection, request: Request) -> None:
    connection.send(200, _document(bmc, request, fault).replace(b":", b"=", 1) + b"}")


def _html(fault: Fault, bmc: Struck, connection: Connection, request: Request) -> None:
    _apply(fault, bmc, request)
    connection.send(200, PAGE, {"Content-Type": "text/html"})


def _empty(fault: Fault, bmc: Struck, connection: Connection, request: Request) -> None:
    _apply(fault, bmc, request)
    connection.send(200, b"")


def _error(fault: Fault, bmc: Struck, connection: Connection, request: Request) -> None:
    _apply(fault, bmc, request)
    connection.answer(refuse(Refusal(200, "Base.1.8.GeneralError"), "by script"))


def _ignored(fault: Fault, bmc: Struck, connection: Connection, request: Request) -> None:
    connection.answer(Answer(204))


def _unlicensed(fault: Fault, bmc: Struck, connection: Connection, request: Request) -> None:
    connection.answer(bmc.service.unlicensed())


def _says(fault: Fault, bmc: Struck, connection: Connection, request: Request) -> None:
    answer = bmc.service.answer(request)
    if answer.document is not None:
        answer.document |= fault.says
    connection.answer(answer)


def _stores(fault: Fault, bmc: Struck, connection: Connection, request: Request) -> None:
    changed = {**(request.document or {}), **fault.says}
    bmc.service.answer(replace(request, body=json.dumps(changed).encode()))
    connection.answer(Answer(200, {}))


def _wrapped(fault: Fault, bmc: Struck, connection: Connection, request: Request) -> None:
    answer = bmc.service.answer(request)
    before, after = (text.encode("latin-1") for text in fault.around)
    connection.send(answer.status, before + answer.body() + after, answer.headers)


def _paged(fault: Fault, bmc: Struck, connection: Connection, request: Request) -> None:
    path, _, skipped = request.path.partition("?$skip=")
    answer, first = bmc.service.answer(replace(request, path=path)), int(skipped or 0)
    members = answer.document["Members"]
    answer.document["Members"] = members[first : first + 1]
    if first + 1 < len(members):
        answer.document["Members@odata.nextLink"] = f"{path}?$skip={first + 1}"
    connection.answer(answer)


def _redirected(fault: Fault, bmc: Struck, connection: Connection, request: Request) -> None:
    path, followed, _ = request.path.partition(FOLLOWED)
    if followed:
        connection.answer(bmc.service.answer(replace(request, path=path)))
    else:
        connection.send(fault.status, b"", {"Location": f"{fault.url}{path}{FOLLOWED}"})


def _fussy(fault: Fault, bmc: Struck, connection: Connection, request: Request) -> None:
    refused = any(name.lower() in request.headers for name in fault.headers)
    connection.answer(Answer(406) if refused else bmc.service.answer(request))


def _inserted(fault: Fault, bmc: Struck, connection: Connection, request: Request) -> None:
    bmc.machine.disc_drive().load(fault.url)
    connection.answer(bmc.service.answer(request))


def _logout(fault: Fault, bmc: Struck, connection: Connection, request: Request) -> None:
    bmc.machine.sessions.clear()
    connection.answer(bmc.service.answer(request))


def _reboot(fault: Fault, bmc: Struck, connection: Connection, request: Request) -> None:
    _apply(fault, bmc, request)
    bmc.reboot(fault)


def _drip(fault: Fault, bmc: Struck, connection: Connection, request: Request) -> None:
    raw = connection.encoded(200, _document(bmc, request, fault))

    async def send() -> None:
        for index in range(len(raw)):
            if connection.transport.is_closing():
                return
            connection.transport.write(raw[index : index + 1])
            await asyncio.sleep(fault.every_s)
        connection.finish()

    bmc.run(send())


def _huge(fault: Fault, bmc: Struck, connection: Connection, request: Request) -> None:
    _apply(fault, bmc, request)

    async def send() -> None:
        connection.transport.write(connection.encoded(200, b"", length=HUGE))
        for _ in range(HUGE // BLOCK):
            while connection.transport.get_write_buffer_size() > BLOCK:
                await asyncio.sleep(0.001)
            if connection.transport.is_closing():
                return
            connection.transport.write(b" " * BLOCK)
        connection.finish()

    bmc.run(send())


KINDS: dict[str, Play] = {
    "reset": _reset,  # RST
    "close": _close,  # no answer
    "used": _used,  # RST to the second request of a connection, and the first answer does not announce it
    "hang": _hang,  # no answer, and the connection stays open
    "status": _status,
    "truncated": _truncated,  # half a document, with the right Content-Length for it
    "short": _short,  # half of the Content-Length
    "malformed": _malformed,  # a body that is not JSON
    "html": _html,  # a page, with 200
    "empty": _empty,  # nothing, with 200
    "error": _error,  # a Redfish error, with 200
    "huge": _huge,  # 64 MB
    "drip": _drip,  # a byte at a time, headers too
    "ignored": _ignored,  # the BMC answers with success, and does nothing
    "unlicensed": _unlicensed,  # the BMC refuses without a licence
    "says": _says,  # the real answer with some properties replaced
    "stores": _stores,  # the BMC answers with success, and does something else
    "wrapped": _wrapped,  # the real answer with bytes before and after it
    "paged": _paged,  # a collection with one member on each page
    "redirected": _redirected,  # to the same path with a query, where the request is served
    "fussy": _fussy,  # 406 to a request with certain headers
    "inserted": _inserted,  # another client inserts a medium just before the request is served
    "logout": _logout,  # the BMC has forgotten its sessions
    "reboot": _reboot,  # the BMC starts again
}
"""The behaviour of each kind of fault."""
