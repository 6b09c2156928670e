"""`Hypervisor` by libvirt: its calls, their lines in the log, and libvirt's refusals as errors of this program."""

import logging
import os
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import NoReturn
from unittest.mock import Mock

import libvirt
import pytest

from base.errors import HypervisorError
from testing.namespaces import needs_root
from wires.libvirt import connection
from wires.libvirt.connection import Libvirt, connected
from wires.libvirt.facts import host_facts
from wires.libvirt.hypervisor import NO_ACCESS, Card, Domain, DomainSpec

POOL = "images"
NODE = """<node>
  <domain type='test'><name>theirs</name><memory>8192</memory><os><type>hvm</type></os></domain>
  <pool type='dir'><name>images</name><target><path>/images</path></target></pool>
</node>"""
SPEC = DomainSpec(
    name="okd-bootstrap",
    owner="okd-baremetal/lab",
    build="b" * 64,
    memory_mib=64,
    vcpus=1,
    emulated=True,
    disk="/pool/okd-bootstrap.qcow2",
    ignition="/pool/okd-bootstrap.ign",
    cards=(Card("52:54:00:00:00:10", "baremetal"),),
)
CANARY = "pull-secret-of-the-canary"


@pytest.fixture
def logged(caplog: pytest.LogCaptureFixture) -> Iterator[Callable[[], list[str]]]:
    """Return the lines of the log since the last call."""

    def lines() -> list[str]:
        messages = [record.getMessage() for record in caplog.records if record.name.startswith("wires.libvirt")]
        caplog.clear()
        return messages

    with caplog.at_level(logging.DEBUG, logger="wires.libvirt"):
        yield lines


@pytest.fixture
def uri(tmp_path: Path) -> str:
    """A host of libvirt's own test driver; its objects end with the connection."""
    path = tmp_path / "node.xml"
    path.write_text(NODE)
    return f"test://{path}"


@pytest.fixture
def hypervisor(uri: str) -> Iterator[Libvirt]:
    with connected(uri) as hypervisor:
        yield hypervisor


def test_a_domain_is_reported_with_its_build_and_its_power_state(hypervisor: Libvirt) -> None:
    assert hypervisor.find("okd-bootstrap") is None
    hypervisor.define(SPEC)
    assert hypervisor.find("okd-bootstrap") == Domain("okd-baremetal/lab", "b" * 64, running=False)
    hypervisor.start("okd-bootstrap")
    assert hypervisor.find("okd-bootstrap") == Domain("okd-baremetal/lab", "b" * 64, running=True)
    hypervisor.power_off("okd-bootstrap")
    assert hypervisor.find("okd-bootstrap") == Domain("okd-baremetal/lab", "b" * 64, running=False)


@pytest.mark.parametrize("machine", ["x86_64", "aarch64"])
def test_the_vm_has_the_architecture_of_its_host(machine: str) -> None:
    host = Mock()
    host.getInfo.return_value = [machine]
    Libvirt(host, "qemu:///system").define(SPEC)
    ((text,), _) = host.defineXML.call_args
    assert f'arch="{machine}"' in text


def test_a_foreign_domain_has_no_owner(hypervisor: Libvirt) -> None:
    assert hypervisor.find("theirs") == Domain("", "", running=True)


def test_an_overlay_is_replaced_and_a_missing_one_deleted_silently(hypervisor: Libvirt) -> None:
    for size_gib in (1, 2):
        path = hypervisor.make_overlay(POOL, "disk.qcow2", base="/pool/base.qcow2", size_gib=size_gib)
        assert path == "/images/disk.qcow2" == hypervisor.volume_path(POOL, "disk.qcow2")
    for _ in range(2):
        hypervisor.delete_volume(POOL, "disk.qcow2")
    with pytest.raises(HypervisorError, match=r"volume disk\.qcow2 of pool images: .*no storage vol"):
        hypervisor.volume_path(POOL, "disk.qcow2")


class TestTrace:
    """The log has a line for each call: libvirt's URI, the name of the call, and its object."""

    def test_calls_about_a_domain_are_logged(
        self, uri: str, hypervisor: Libvirt, logged: Callable[[], list[str]]
    ) -> None:
        logged()
        hypervisor.define(SPEC)
        hypervisor.start("okd-bootstrap")
        hypervisor.find("okd-bootstrap")
        hypervisor.power_off("okd-bootstrap")
        assert logged() == [
            f"{uri}: {call} domain okd-bootstrap"
            for call in ("defineXML", "create", "lookupByName", "metadata", "isActive", "destroy")
        ]

    def test_calls_about_a_volume_are_logged(
        self, uri: str, hypervisor: Libvirt, logged: Callable[[], list[str]]
    ) -> None:
        logged()
        hypervisor.make_overlay(POOL, "disk.qcow2", base="/pool/base.qcow2", size_gib=1)
        hypervisor.volume_path(POOL, "disk.qcow2")
        assert logged() == [
            f"{uri}: refresh pool {POOL}",
            f"{uri}: delete volume disk.qcow2 of pool {POOL}",
            f"{uri}: createXML volume disk.qcow2 of pool {POOL}",
            f"{uri}: refresh pool {POOL}",
            f"{uri}: storageVolLookupByName volume disk.qcow2 of pool {POOL}",
        ]

    def test_calls_about_a_host_are_logged(self, uri: str, logged: Callable[[], list[str]]) -> None:
        host_facts(uri, POOL, set())
        assert logged() == [
            f"{uri}: open connection",
            f"{uri}: getLibVersion host",
            f"{uri}: getDomainCapabilities host",
            f"{uri}: storagePoolLookupByName pool {POOL}",
        ]

    def test_a_refusal_is_logged(self, uri: str, hypervisor: Libvirt, logged: Callable[[], list[str]]) -> None:
        logged()
        with pytest.raises(HypervisorError):
            hypervisor.start("okd-bootstrap")
        called, refused = logged()
        assert called == f"{uri}: create domain okd-bootstrap"
        assert refused.startswith(f"{uri}: create domain okd-bootstrap: refused: ")


@dataclass
class Recorder:
    """Stands in for a connection, its one pool, its one volume and its streams: the test driver lacks these calls.

    Args:
        answer: What the guest sends on its channel.
    """

    answer: bytes = b""
    sent: bytes = b""
    created: list[str] = field(default_factory=list)
    flags: list[int] = field(default_factory=list)

    def storagePoolLookupByName(self, name: str) -> "Recorder":  # noqa: N802  (libvirt's names)
        return self

    lookupByName = storageVolLookupByName = storagePoolLookupByName  # noqa: N815

    def newStream(self) -> "Recorder":  # noqa: N802
        return self

    def refresh(self) -> None: ...

    abort = finish = refresh

    def listVolumes(self) -> list[str]:  # noqa: N802
        return []

    def path(self) -> str:
        return "/pool/okd-bootstrap.ign"

    def createXML(self, text: str) -> "Recorder":  # noqa: N802
        self.created.append(text)
        return self

    def upload(self, stream: "Recorder", offset: int, length: int) -> None: ...

    def download(self, stream: "Recorder", offset: int, length: int) -> None: ...

    def openChannel(self, name: str, stream: "Recorder", flags: int) -> None: ...  # noqa: N802

    def shutdownFlags(self, flags: int) -> None:  # noqa: N802
        self.flags.append(flags)

    undefineFlags = shutdownFlags  # noqa: N815

    def send(self, content: bytes) -> None:
        self.sent += content

    def recv(self, size: int) -> bytes:
        chunk, self.answer = self.answer[:4], self.answer[4:]
        return chunk

    def sendAll(self, source: Callable[..., bytes], opaque: object) -> None:  # noqa: N802
        while chunk := source(self, 16, opaque):
            self.sent += chunk

    def recvAll(self, sink: Callable[..., object], opaque: object) -> None:  # noqa: N802
        for chunk in (b"core", b"os"):
            sink(self, chunk, opaque)


def test_a_domain_is_shut_down_by_acpi_and_undefined_with_its_nvram(logged: Callable[[], list[str]]) -> None:
    host = Recorder()
    Libvirt(host, "qemu:///system").shut_down("vm")
    Libvirt(host, "qemu:///system").undefine("vm")
    assert host.flags == [libvirt.VIR_DOMAIN_SHUTDOWN_ACPI_POWER_BTN, libvirt.VIR_DOMAIN_UNDEFINE_NVRAM]
    assert logged() == ["qemu:///system: shutdownFlags domain vm", "qemu:///system: undefineFlags domain vm"]


def test_the_ignition_is_uploaded_whole_and_never_logged(logged: Callable[[], list[str]]) -> None:
    host, content = Recorder(), f'{{"ignition": "{CANARY}"}}'.encode()
    path = Libvirt(host, "qemu:///system").make_private("default", "okd-bootstrap.ign", content)
    assert (path, host.sent) == ("/pool/okd-bootstrap.ign", content)
    assert CANARY not in "".join(host.created)
    lines = logged()
    assert CANARY not in "\n".join(lines)
    assert lines == [
        "qemu:///system: refresh pool default",
        "qemu:///system: delete volume okd-bootstrap.ign of pool default",
        "qemu:///system: createXML volume okd-bootstrap.ign of pool default",
        "qemu:///system: upload volume okd-bootstrap.ign of pool default",
    ]


def test_the_digest_of_a_volume_is_that_of_all_its_bytes(logged: Callable[[], list[str]]) -> None:
    digest = Libvirt(Recorder(), "qemu:///system").volume_sha256("default", "base.qcow2")
    assert digest == "cce4a2de03e82358f0c511461103adb0ccf0e4517fdff3945131b060b4afe84e"
    assert logged() == ["qemu:///system: download volume base.qcow2 of pool default"]


@pytest.mark.parametrize("answer", [b"held vip=yes api=yes\n", b"late rest\nheld vip=yes api=yes\n"])
def test_the_last_line_on_the_channel_is_the_answer(answer: bytes, logged: Callable[[], list[str]]) -> None:
    host = Recorder(answer)
    assert Libvirt(host, "qemu:///system").ask("okd-bootstrap", "status") == "held vip=yes api=yes"
    assert host.sent == b"status\n"
    assert logged() == ["qemu:///system: openChannel channel org.okd-baremetal.vip of domain okd-bootstrap"]


@pytest.mark.parametrize("works", [True, False])
def test_a_connection_ends_with_the_work(monkeypatch: pytest.MonkeyPatch, works: bool) -> None:
    """libvirt lets in 20 clients at once."""
    host = Mock()
    monkeypatch.setattr(libvirt, "open", lambda _: host)
    with suppress(ZeroDivisionError), connected("qemu:///system"):
        assert works or 1 / 0
    host.close.assert_called_once_with()


class Silent(Recorder):
    """A guest that never answers: who reads its channel waits until the stream is ended."""

    def __init__(self) -> None:
        super().__init__()
        self.ended = threading.Event()

    def abort(self) -> None:
        self.ended.set()

    def recv(self, size: int) -> bytes:
        assert self.ended.wait(5), "nobody gave it up"
        raise libvirt.libvirtError("stream aborted")


def test_a_guest_that_never_answers_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connection, "CHANNEL_ANSWER_S", 0.01)
    with pytest.raises(HypervisorError, match="stream aborted"):
        Libvirt(Silent(), "qemu:///system").ask("okd-bootstrap", "status")


def test_a_pool_is_refreshed_before_its_volumes_are_listed(monkeypatch: pytest.MonkeyPatch) -> None:
    """Else libvirt does not know what was copied there a moment ago."""
    refreshed = list[str]()
    monkeypatch.setattr(Recorder, "refresh", lambda _: refreshed.append("refreshed"))
    Libvirt(Recorder(), "qemu:///system").volume_path("default", "base.qcow2")
    assert refreshed == ["refreshed"]


class Refusing:
    """Stands in for a connection that refuses every call."""

    def __init__(self, code: int, message: str) -> None:
        self.error = libvirt.libvirtError(message)
        self.error.err = (code, 0, message, 2, None, None, None, -1, -1)

    def __getattr__(self, name: str) -> Callable[..., object]:
        def refuse(*_: object) -> object:
            raise self.error

        return refuse


LOG = "read libvirt's log"
POOLS = "make it, or correct bootstrap.pool and bootstrap.base_volume of the stack"


@pytest.mark.parametrize(
    ("act", "what"),
    [
        (lambda of: of.find("vm"), "domain vm"),
        (lambda of: of.define(SPEC), "domain okd-bootstrap"),
        (lambda of: of.start("vm"), "domain vm"),
        (lambda of: of.shut_down("vm"), "domain vm"),
        (lambda of: of.power_off("vm"), "domain vm"),
        (lambda of: of.undefine("vm"), "domain vm"),
        (lambda of: of.volume_path("p", "v"), "pool p"),
        (lambda of: of.volume_sha256("p", "v"), "volume v of pool p"),
        (lambda of: of.make_overlay("p", "v", base="/b", size_gib=1), "pool p"),
        (lambda of: of.make_private("p", "v", b"x"), "pool p"),
        (lambda of: of.delete_volume("p", "v"), "pool p"),
    ],
)
def test_each_refusal_becomes_one_line(act: Callable[[Libvirt], object], what: str) -> None:
    refusing = Libvirt(Refusing(libvirt.VIR_ERR_INTERNAL_ERROR, "internal\nerror"), "qemu:///system")
    with pytest.raises(HypervisorError) as caught:
        act(refusing)
    assert str(caught.value) == f"qemu:///system: {what}: internal error. Fix: {LOG}"


@pytest.mark.parametrize("end", [Libvirt.shut_down, Libvirt.power_off])
def test_a_domain_that_has_just_gone_off_is_as_wanted(end: Callable[[Libvirt, str], None]) -> None:
    """The guest of a rehearsal went off between a look and the second press of its button."""
    end(Libvirt(Refusing(libvirt.VIR_ERR_OPERATION_INVALID, "domain is not running"), "qemu:///system"), "vm")


@pytest.mark.parametrize(
    ("code", "message", "fix"),
    [
        pytest.param(libvirt.VIR_ERR_NO_STORAGE_POOL, "no pool", POOLS, id="pool"),
        pytest.param(libvirt.VIR_ERR_NO_STORAGE_VOL, "no volume", POOLS, id="volume"),
        pytest.param(
            libvirt.VIR_ERR_INTERNAL_ERROR,
            "Cannot get interface MTU on 'x': No such device",
            "make the bridge that platform.baremetal.externalBridge names, and set it up",
            id="bridge",
        ),
        pytest.param(
            libvirt.VIR_ERR_OPERATION_INVALID,
            "Requested operation is not valid: network 'baremetal' is not active",
            "`virsh -c qemu:///system net-start baremetal`",
            id="network",
        ),
    ],
)
def test_a_known_refusal_has_its_fix(code: int, message: str, fix: str) -> None:
    with pytest.raises(HypervisorError) as caught:
        Libvirt(Refusing(code, message), "qemu:///system").volume_sha256("p", "v")
    assert caught.value.fault.fix == fix


def test_a_refused_channel_has_the_console_as_its_fix() -> None:
    with pytest.raises(HypervisorError) as caught:
        Libvirt(Refusing(libvirt.VIR_ERR_OPERATION_FAILED, "Cannot find device"), "qemu:///system").ask(
            "vm", "status"
        )
    assert str(caught.value) == (
        "qemu:///system: channel org.okd-baremetal.vip of domain vm: Cannot find device. "
        "Fix: check on the console of the VM whether okd-vip-channel.service runs"
    )


def test_a_mark_that_cannot_be_read_is_an_error_and_not_a_missing_mark() -> None:
    """Otherwise a broken connection would make the program's own VM look foreign."""
    refusing = Refusing(libvirt.VIR_ERR_RPC, "Cannot recv data: Connection reset by peer")

    class Host:
        def lookupByName(self, name: str) -> Refusing:  # noqa: N802
            return refusing

    with pytest.raises(HypervisorError, match=r"^qemu:///system: domain vm: Cannot recv data: "):
        Libvirt(Host(), "qemu:///system").find("vm")


def test_an_unreachable_libvirt_is_one_line(tmp_path: Path) -> None:
    uri = f"qemu+unix:///system?socket={tmp_path}/none"
    with pytest.raises(HypervisorError) as caught, connected(uri):
        pass
    assert str(caught.value).startswith(f"{uri}: libvirt is not reachable: Failed to connect socket to ")
    assert str(caught.value).endswith(
        ". Fix: start libvirtd (modular daemons: virtqemud, virtstoraged), or correct platform.baremetal.libvirtURI"
    )


@needs_root
def test_a_user_without_access_to_libvirt_is_told_so(tmp_path: Path) -> None:
    """Issue 40, N10: a restart of libvirtd, the fix of other unreachable ones, would change nothing."""
    folder = tmp_path / "of-root"
    folder.mkdir(mode=0o700)
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(folder / "libvirt-sock"))
        listener.listen()
        (process := os.fork()) or _exit_as_nobody(f"qemu+unix:///system?socket={folder}/libvirt-sock")
        assert os.waitstatus_to_exitcode(os.waitpid(process, 0)[1]) == 0


def _exit_as_nobody(uri: str) -> NoReturn:
    try:
        os.setuid(65534)
        with connected(uri):
            pass
    except HypervisorError as error:
        os._exit(0 if error.fault.fix == NO_ACCESS and "Permission denied" in error.fault.what else 1)
    finally:
        os._exit(2)


def test_a_refusal_of_ssh_is_no_matter_of_the_libvirt_group(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(_: str) -> None:
        raise libvirt.libvirtError("Cannot recv data: Permission denied (publickey).")

    monkeypatch.setattr(libvirt, "open", refuse)
    with pytest.raises(HypervisorError) as caught, connected("qemu+ssh://root@kvm.example.com/system"):
        pass
    assert caught.value.fault.fix != NO_ACCESS
