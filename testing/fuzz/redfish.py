"""Redfish trees of all vendors with wrong shapes and broken HTTP, through all that the program asks a BMC."""

import json
import socket
import threading
from collections.abc import Callable
from contextlib import suppress
from functools import cache
from random import Random

from pydantic import SecretStr

from base.errors import BmcError
from testing.fakes.fleet.figures import Pace
from testing.fakes.fleet.http import Answer, Request
from testing.fakes.fleet.machine import Machine
from testing.fakes.fleet.service import Service
from testing.fakes.fleet.vendors import VENDORS
from testing.fuzz.engine import CANARY, Surface
from testing.fuzz.mutations import VALUES, mutated_bytes, mutated_document
from wires.bmc.access import BmcAccess, Limits
from wires.bmc.client import CD, ONCE, PXE, Power
from wires.redfish.capture.tree import BmcCapture
from wires.redfish.client.adapter import SESSIONS
from wires.redfish.client.logins import ACCEPTED, REFUSED
from wires.redfish.probe import BmcProbe

USER, PASSWORD = "admin", f"a{CANARY}"
LIMITS = Limits(connect_s=1, answer_s=0.2, insert_s=0.2, whole_s=3)
WRITES = (200, 201, 202, 202, 204, 204, 400, 403, 404, 405, 409, 412, 428, 500, 501, 503)
HEADERS = (
    *(
        b"Retry-After: 99999999999999999999",
        b"Retry-After: \xb2",
        b"Location: //other.test/",
        b"Location: http://[",
        b"ETag: \xff",
    ),
    *(
        b"Content-Encoding: gzip",
        b"Transfer-Encoding: chunked",
        b"Content-Length: -1",
        b"Content-Length: 9",
        b"X: " + b"a" * 70_000,
    ),
    *(
        b"WWW-Authenticate: Digest",
        b"X-Auth-Token: x\x7f",
        b"Connection: close",
        b"Content-Type: text/html; charset=x",
        b"no header",
    ),
)
STATUSES = (
    b"HTTP/1.1 200 OK",
    b"HTTP/1.1 302 Found",
    b"HTTP/1.1 401 No",
    b"HTTP/1.1 404 No",
    b"HTTP/1.1 503 No",
    b"HTTP/9 x",
    b"",
)


class _Bmc:
    """A BMC on a port of this machine, with answers that follow from the random numbers of the case."""

    def __init__(self) -> None:
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port = self._listener.getsockname()[1]
        self.random, self.service = Random(0), _service(next(iter(VENDORS)))  # noqa: S311
        threading.Thread(target=self._serve, daemon=True).start()

    def become(self, vendor: str, random: Random) -> None:
        """Serve another case."""
        self.random, self.service = random, _service(vendor)

    def _serve(self) -> None:
        while True:
            connection, _ = self._listener.accept()
            with connection, suppress(OSError, ValueError, RecursionError):
                connection.settimeout(LIMITS.answer_s)
                while self._answer(connection):
                    pass

    def _answer(self, connection: socket.socket) -> bool:
        """Answer one request; return whether another one may follow."""
        text = b""
        while b"\r\n\r\n" not in text:
            if not (piece := connection.recv(65536)):
                return False
            text += piece
        head, _, body = text.partition(b"\r\n\r\n")
        first, *lines = head.decode("latin-1").split("\r\n")
        headers = {name.lower(): value.strip() for name, _, value in (line.partition(":") for line in lines)}
        method, _, rest = first.partition(" ")
        path = rest.rpartition(" ")[0]  # a link of ours may have spaces
        answer = self._answer_to(Request(method, path.rstrip("/"), headers, body))
        connection.sendall(self._broken(answer) if self.random.random() < 0.05 else _plain(answer))
        return self.random.random() > 0.02

    def _answer_to(self, request: Request) -> Answer:
        random = self.random
        if request.method != "GET" and request.path != SESSIONS:
            return Answer(
                random.choice(WRITES), random.choice(VALUES), {"Location": "/redfish/v1/TaskService/Tasks/1"}
            )
        answer = self.service.answer(request)
        if isinstance(answer.document, dict) and random.random() < 0.25:
            answer.document = mutated_document(random, answer.document)
        return answer

    def _broken(self, answer: Answer) -> bytes:
        random = self.random
        lines = [random.choice(STATUSES), *random.sample(HEADERS, random.randint(0, 3))]
        match random.randrange(3):
            case 0:
                return b"\r\n".join([*lines, b"\r\n"]) + answer.body()
            case 1:
                return mutated_bytes(random, _plain(answer))
            case _:
                return _plain(Answer(200, mutated_bytes(random, answer.body()), {}))


def _plain(answer: Answer) -> bytes:
    body = answer.body()
    lines = [f"{name}: {value}" for name, value in ({"Content-Length": len(body)} | answer.headers).items()]
    return "\r\n".join([f"HTTP/1.1 {answer.status} x", *lines, "\r\n"]).encode() + body


async def _fetch(_: Machine, __: str) -> None:
    """Fetch nothing: no case installs a host."""


@cache
def _bmc() -> _Bmc:
    return _Bmc()


def _service(vendor: str) -> Service:
    return Service(Machine(0, VENDORS[vendor], Pace(), _fetch), USER, PASSWORD)


ASKED: tuple[Callable[[BmcProbe], object], ...] = (
    *(BmcProbe.identity, BmcProbe.power, BmcProbe.boot_override, BmcProbe.pending_override, BmcProbe.boot_modes),
    *(BmcProbe.secure_boot, BmcProbe.media, BmcProbe.bmc_version, BmcProbe.expect_boot_method, BmcProbe.path),
    *(BmcProbe.kind, BmcProbe.virtual_cd, BmcProbe.boot_targets, BmcProbe.override_mode, BmcProbe.licence),
    BmcProbe.health,
    *(lambda bmc: bmc.settle_s, lambda bmc: bmc.boot_mode, BmcProbe.eject, BmcProbe.check_task),
    *(lambda bmc: bmc.insert("http://192.0.2.1/a.iso"), lambda bmc: bmc.set_override(CD, ONCE)),
    *(
        lambda bmc: bmc.offers(PXE),
        lambda bmc: bmc.set_secure_boot(enabled=True),
        lambda bmc: bmc.set_boot_mode("UEFI"),
    ),
    *(lambda bmc: bmc.request_power(Power.ON), lambda bmc: bmc.request_power(Power.OFF)),
)
"""What a check and an installation ask."""
TYPES = (str, bool, int, float, tuple, type(None))


def make(random: Random) -> bytes:
    """Return a case: a vendor, and the seed of its answers."""
    return json.dumps({"vendor": random.choice([*VENDORS]), "seed": random.randrange(2**32)}).encode()


def served(case: bytes) -> tuple[BmcAccess, Random]:
    """Have the BMC serve a case; return how it is reached, and the random numbers of the case."""
    wanted = json.loads(case)
    random = Random(wanted["seed"])  # noqa: S311
    bmc = _bmc()
    ACCEPTED.clear()  # of the case before
    REFUSED.clear()
    bmc.become(wanted["vendor"], random)
    system = VENDORS[wanted["vendor"]].system_path
    address = f"redfish-virtualmedia+http://127.0.0.1:{bmc.port}{system}"
    return BmcAccess(address=address, username=USER, session=random.random() < 0.2), random


def _run(case: bytes) -> str:
    access, random = served(case)
    if random.random() < 0.2:
        return _captured(BmcCapture(access, SecretStr(PASSWORD), LIMITS))
    client = BmcProbe(access, SecretStr(PASSWORD), LIMITS)
    try:
        return "\n".join(_asked(client, ask) for ask in random.sample(ASKED, 8))
    finally:
        client.close()


def _asked(client: BmcProbe, ask: Callable[[BmcProbe], object]) -> str:
    try:
        answer = ask(client)
    except BmcError as error:
        return str(error)
    return f"{answer}" if isinstance(answer, TYPES) else client.masked(repr(answer))


def _captured(client: BmcCapture) -> str:
    try:
        return json.dumps(client.tree(lambda _: None))
    except BmcError as error:
        return str(error)
    finally:
        client.close()


SURFACE = Surface(make, _run)
