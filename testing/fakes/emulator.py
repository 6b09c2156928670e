"""sushy-tools' emulator in this process, with TLS, passwords and fake guests that install themselves.

Only one per process, since the emulator keeps its state in its module.
"""

import http.server
import json
import logging
import socket
import ssl
import tempfile
import threading
from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field
from ipaddress import IPv4Address
from pathlib import Path
from typing import Any

import bcrypt
import flask
from sushy_tools.emulator import main as emulator
from sushy_tools.emulator.resources.systems.fakedriver import FakeDriver
from werkzeug.serving import make_server

from assets.ignition import Config, Resource
from testing.certificates import Authority

USER, PASSWORD = "admin", "s3cret-of-the-BMC"
SECOND_USER, SECOND_PASSWORD = "operator", "another-s3cret"
API_PORT = 6443
MEDIA = 253  # the last number of an address
MEETING_S = 20
READS = 2  # of a power-on system, before its installer is done


class PromptDriver(FakeDriver):  # type: ignore[misc]
    """The fake driver without its random delays of up to 11 s."""

    def set_power_state(self, identity: str, state: str) -> None:
        super().set_power_state(identity, state)
        if pending := self._get(identity).get("pending_power"):
            self._update(identity, pending_power={**pending, "apply_time": 0})


@dataclass
class FakeGuest:
    """The software on the emulated servers.

    A server that boots from virtual CD runs the installer, which writes the disk and, after a few reads of the BMC,
    switches the server off through the emulator's driver. One that boots from a written disk answers /readyz.
    """

    systems: Any
    reads: Counter[str] = field(default_factory=Counter)
    installs: Counter[str] = field(default_factory=Counter)
    disks: set[str] = field(default_factory=set)
    may_end: threading.Event = field(default_factory=threading.Event)
    """If cleared, the installers never end."""

    def count_read(self, uuid: str) -> None:
        """Count a read of the system at its BMC; after READS of them the installer ends."""
        if self._from_cd(uuid):
            self.reads[uuid] += 1
            if self.reads[uuid] % READS == 0 and self.may_end.is_set():
                self.installs[uuid] += 1
                self.disks.add(uuid)
                self.systems.set_power_state(uuid, "ForceOff")

    def is_ready(self, uuid: str) -> bool:
        """Whether the installed system runs."""
        on = self.systems.get_power_state(uuid) == "On"
        return on and not self._from_cd(uuid) and uuid in self.disks

    def _from_cd(self, uuid: str) -> bool:
        image = self.systems.get_boot_image(uuid, "Cd")[0]
        on = self.systems.get_power_state(uuid) == "On"
        return bool(on and image and self.systems.get_boot_device(uuid) == "Cd")


@dataclass
class Emulator:
    """The running emulator."""

    port: int
    authority: Authority
    guest: FakeGuest
    context: ssl.SSLContext
    certificate: str
    network: str
    """The first three numbers of the loopback addresses that only this emulator uses."""
    machines: dict[str, int]
    requests: list[str] = field(default_factory=list)
    labels: dict[str, dict[str, str]] = field(default_factory=dict)
    """Properties that a server reports in place of the emulator's, by system UUID."""
    meeting: threading.Barrier | None = None
    """If set, holds back the answer to the first reset of each server until all are to be reset."""
    first_resets: set[str] = field(default_factory=set)
    """The servers that were to be reset during the meeting."""

    @property
    def writes(self) -> list[str]:
        """Requests other than GET, each as `METHOD path`."""
        return [line for line in self.requests if not line.startswith("GET ")]

    def reset(self) -> None:
        """Make every server run a system of another installation, without media, and forget all requests."""
        for uuid in self.guest.systems.systems:
            emulator.app.vmedia.eject_image(uuid, "Cd")
            self.guest.systems.set_boot_image(uuid, "Cd")
            self.guest.systems.set_boot_device(uuid, "Hdd")
            self.guest.systems.set_secure_boot(uuid, False)
            self.guest.systems.set_power_state(uuid, "On")
        self.guest.disks.clear()
        self.guest.installs.clear()
        self.guest.reads.clear()
        self.guest.may_end.set()
        self.labels.clear()
        self.meeting = None
        self.first_resets.clear()
        self.requests.clear()

    def api(self, uuid: str) -> str:
        """Return the address at which the installed system of a server answers."""
        return f"{self.network}.{self.machines[uuid]}"

    @property
    def media(self) -> str:
        """An address for a media server, at which nothing listens."""
        return f"{self.network}.{MEDIA}"

    def address(self, uuid: str, port: int = 0) -> str:
        """Return a BMC's address, as an install-config has it."""
        return f"redfish-virtualmedia+https://127.0.0.1:{port or self.port}/redfish/v1/Systems/{uuid}"

    @contextmanager
    def another_port(self) -> Iterator[int]:
        """Listen on a second port, in this thread's network namespace."""
        with ExitStack() as stack:
            server = make_server("127.0.0.1", 0, emulator.app, threaded=True, ssl_context=self.context)
            _serve(stack, server)
            yield server.port

    def writes_to(self, uuid: str, since: int = 0) -> list[str]:
        """Return the writes to one server after the first `since` of all: the action's name, Boot or SecureBoot."""
        lines = [line for line in self.writes[since:] if uuid in line]
        paths = {f"PATCH /redfish/v1/Systems/{uuid}": "Boot"}
        return [paths.get(line, line.replace("/", ".").rsplit(".", 1)[-1]) for line in lines]

    def verifies_media(self, uuid: str) -> bool:
        """Return whether the virtual CD of a server verifies the server of its image."""
        return bool(emulator.app.vmedia.get_device_image_info(uuid, "Cd").verify)


@contextmanager
def running(folder: Path, machines: dict[str, int]) -> Iterator[Emulator]:
    """Run the emulator.

    Args:
        folder: Folder for its state.
        machines: Last number of the installed system's loopback address by system UUID.
    """
    authority = Authority.create("lab-bmc-ca")
    pair = authority.issue(["api.okd.lab.test"], [IPv4Address("127.0.0.1")])
    certificate, key = folder / "server.crt", folder / "server.key"
    certificate.write_text(pair.certificate)
    key.write_text(pair.key)
    passwords = folder / "htpasswd"
    logins = {USER: PASSWORD, SECOND_USER: SECOND_PASSWORD}
    hashed = {user: bcrypt.hashpw(word.encode(), bcrypt.gensalt(4)).decode() for user, word in logins.items()}
    passwords.write_text("".join(f"{user}:{digest}\n" for user, digest in hashed.items()))
    systems = [{"uuid": uuid, "name": f"host-{uuid[:4]}", "power_state": "On", "nics": []} for uuid in machines]
    options = {
        "SUSHY_EMULATOR_FAKE_DRIVER": True,
        "SUSHY_EMULATOR_FAKE_SYSTEMS": systems,
        "SUSHY_EMULATOR_STATE_DIR": str(folder),
        "SUSHY_EMULATOR_AUTH_FILE": str(passwords),
    }
    with ExitStack() as stack:
        stack.callback(setattr, tempfile, "tempdir", tempfile.tempdir)
        tempfile.tempdir = str(folder)  # each insert leaves a copy of the image there
        stack.callback(setattr, emulator.fakedriver, "FakeDriver", FakeDriver)
        emulator.fakedriver.FakeDriver = PromptDriver
        emulator.app.configure(extra_config=options)
        logging.getLogger("werkzeug").setLevel(logging.WARNING)
        app = emulator.app
        # Each one creates its table on first use; two concurrent first uses would meet a locked database.
        _ = app.managers, app.chassis, app.indicators, app.vmedia
        guest = FakeGuest(app.systems)
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(certificate, key)
        server = make_server("127.0.0.1", 0, emulator.app, threaded=True, ssl_context=context)
        bmc = Emulator(server.port, authority, guest, context, pair.certificate, _free_network(stack), machines)
        _watch(bmc)
        _serve(stack, server)
        for uuid in machines:
            _serve(stack, _api(guest, uuid, bmc.api(uuid), context))
        yield bmc


def _serve(stack: ExitStack, server: Any) -> None:
    threading.Thread(target=server.serve_forever, daemon=True).start()
    stack.callback(server.server_close)
    stack.callback(server.shutdown)


def _free_network(stack: ExitStack) -> str:
    """Take the first /24 of loopback that no other emulator of this machine has; its last address is the claim."""
    for number in range(77, 256):
        claim = stack.enter_context(socket.socket())
        with suppress(OSError):
            claim.bind((f"127.0.{number}.254", API_PORT))
            return f"127.0.{number}"
    raise AssertionError("each /24 from 127.0.77.0 on has an emulator")


def _watch(bmc: Emulator) -> None:
    """Record every request, and report reads of systems to the guests."""

    def record() -> None:
        bmc.requests.append(f"{flask.request.method} {flask.request.path}")
        uuid = system_reset()
        if bmc.meeting and uuid and uuid not in bmc.first_resets:
            bmc.first_resets.add(uuid)
            with suppress(threading.BrokenBarrierError):
                bmc.meeting.wait(MEETING_S)

    def system_read() -> str:
        parts = flask.request.path.split("/")
        is_read = flask.request.method == "GET" and parts[:-1] == ["", "redfish", "v1", "Systems"]
        return parts[-1] if is_read else ""

    def system_reset() -> str:
        system, _, action = flask.request.path.partition("/Actions/")
        is_reset = flask.request.method == "POST" and action == "ComputerSystem.Reset"
        return system.rpartition("/")[2] if is_reset else ""

    def relabel(response: flask.Response) -> flask.Response:
        if uuid := system_read():
            bmc.guest.count_read(uuid)
            if response.is_json and (labels := bmc.labels.get(uuid)):
                response.set_data(json.dumps({**response.get_json(), **labels}))
        return response

    emulator.app.before_request(record)
    emulator.app.after_request(relabel)


def _api(guest: FakeGuest, uuid: str, address: str, context: ssl.SSLContext) -> http.server.ThreadingHTTPServer:
    """The API of one installed system."""

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(200 if guest.is_ready(uuid) else 503)
            self.end_headers()

        def log_message(self, *args: Any) -> None:
            pass

    server = http.server.ThreadingHTTPServer((address, API_PORT), Handler)
    server.daemon_threads = True
    server.socket = context.wrap_socket(server.socket, server_side=True)
    return server


def pointer(authority: Authority) -> bytes:
    """Return a payload's master.ign."""
    return Config(certificate_authorities=(Resource.inline(authority.pem),)).to_json().encode()
