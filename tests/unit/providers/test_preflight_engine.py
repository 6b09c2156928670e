"""The judgement of the provisioner: each finding with what mends it, all of them at once, and what stays unseen."""

import errno
import os
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from assets.iso import INSTALLER_VERSION
from assets.payload import PayloadError
from providers.errors import HypervisorError, PreflightError
from providers.hypervisor.facts import HostFacts, Pool, Volume
from providers.preflight.engine import GIB, IGNITION_ROOM, Bridge, Installer, Spec, judge
from providers.preflight.verdict import Verdict
from tests import payloads

SSH = "qemu+ssh://root@kvm.example.com/system"
BASE, ISO, IMAGE = "/pool/base.qcow2", "/cache/iso", "/images/base.qcow2"
SPEC = Spec(
    phase="bootstrap",
    stack="prod",
    payload={"bootstrap": "f0", "master": "f1", "worker": "f2"},
    domain=payloads.DOMAIN,
    libvirt_uri="qemu:///system",
    bridges={"externalBridge": "baremetal"},
    vm="okd-bootstrap",
    emulated=False,
    pool="default",
    base_volume="base.qcow2",
    base_sha256="b0",
    disk_gib=32,
    manage=False,
    image_source="",
    image_sha256="",
    media_address="192.0.2.1",
    media_port=8080,
    base_iso_sha256="d3",
    base_iso_url="",
)
MANAGED: dict[str, Any] = {
    "manage": True,
    "base_volume": "",
    "base_sha256": "",
    "image_source": IMAGE,
    "image_sha256": "e4",
}
VOLUME = Volume(path=BASE, format="qcow2", capacity=10 * GIB, allocation=GIB)
POOL = Pool(active=True, path="/pool", free=32 * GIB + IGNITION_ROOM, volumes={"base.qcow2": VOLUME})
HOST = HostFacts(version=(9, 0, 0), kvm=True, pool=POOL)
DOWN = HypervisorError("libvirt is not reachable: no such file", where="qemu:///system", hint="not shown")


@dataclass
class World:
    """A provisioner on which all is well, until a test changes it."""

    host: HostFacts | HypervisorError = HOST
    bridges: dict[str, Bridge] = field(default_factory=lambda: {"baremetal": Bridge(True, True, True)})
    files: dict[str, str | int] = field(default_factory=lambda: {BASE: "b0", ISO: "d3", IMAGE: "e4"})
    """Digest by path, or the errno that reading it gives."""
    tool: Installer | None = field(default_factory=lambda: Installer(Path("/bin/tool"), INSTALLER_VERSION))
    port: int = 0
    """The errno that listening gives."""
    contents: dict[str, bytes] = field(default_factory=payloads.payload)
    time: datetime = payloads.NOW
    asked: list[tuple[str, str | None, frozenset[str]]] = field(default_factory=list)

    def hypervisor(self, uri: str, pool: str | None, volumes: frozenset[str]) -> HostFacts:
        self.asked.append((uri, pool, volumes))
        if isinstance(self.host, HypervisorError):
            raise self.host
        return self.host

    def bridge(self, name: str) -> Bridge | None:
        return self.bridges.get(name)

    def read(self, path: Path) -> None:
        self.sha256(path)

    def sha256(self, path: Path) -> str:
        found = self.files.get(str(path), errno.ENOENT)
        if isinstance(found, int):
            raise OSError(found, os.strerror(found))
        return found

    def base_iso(self, sha256: str) -> Path:
        return Path(ISO)

    def installer(self) -> Installer | None:
        return self.tool

    def payload(self, stack: str, name: str, sha256: str) -> bytes:
        assert stack == SPEC.stack
        if name not in self.contents:
            raise PayloadError(f"{name} is not {sha256}", "bring it")
        return self.contents[name]

    def now(self) -> datetime:
        return self.time

    def listen(self, address: str, port: int) -> None:
        if self.port:
            raise OSError(self.port, os.strerror(self.port))


def seen(spec: dict[str, Any] | None = None, **world: Any) -> Verdict:
    return judge(replace(SPEC, **(spec or {})), World(**world))


def with_pool(**changes: Any) -> HostFacts:
    return replace(HOST, pool=replace(POOL, **changes))


def with_base(**changes: Any) -> HostFacts:
    return with_pool(volumes={"base.qcow2": replace(VOLUME, **changes)})


def files(**changes: str | int) -> dict[str, str | int]:
    return {BASE: "b0", ISO: "d3", IMAGE: "e4"} | {
        {"base": BASE, "iso": ISO, "image": IMAGE}[k]: v for k, v in changes.items()
    }


def test_nothing_is_found_where_all_is_well() -> None:
    verdict = seen()
    assert verdict.lines() == []
    assert (verdict.libvirt_version, verdict.kvm) == ("9.0.0", True)
    verdict.refuse()


@pytest.mark.parametrize(
    ("spec", "world", "what", "mend"),
    [
        pytest.param(
            {}, {"host": DOWN},
            "qemu:///system: libvirt is not reachable: no such file", "`systemctl restart libvirtd`",
            id="libvirt-down",
        ),
        pytest.param(
            {"libvirt_uri": SSH}, {"host": HypervisorError("libvirt is not reachable: refused", where=SSH)},
            f"{SSH}: libvirt is not reachable: refused", f"`virsh -c {SSH} version`",
            id="libvirt-down-by-ssh",
        ),
        pytest.param(
            {}, {"host": replace(HOST, kvm=False)},
            "KVM: libvirt offers none", "`modprobe kvm_intel`",
            id="no-kvm",
        ),
        pytest.param(
            {}, {"host": replace(HOST, pool=None)},
            "pool default: not there", "`virsh -c qemu:///system pool-define-as default dir --target",
            id="no-pool",
        ),
        pytest.param(
            {"libvirt_uri": "qemu+unix:///system?socket=/x"}, {"host": with_pool(active=False, free=0, volumes={})},
            "pool default: not active", "`virsh -c 'qemu+unix:///system?socket=/x' pool-start default`",
            id="pool-inactive",
        ),
        pytest.param(
            {}, {"host": with_pool(free=POOL.free - GIB)},
            "pool default: 31.02 GiB free, 32.02 GiB wanted", "free room where `df -h /pool`",
            id="no-room",
        ),
        pytest.param(
            {}, {"host": with_pool(volumes={})},
            "base volume base.qcow2 of pool default: not there", "`cp <qcow2> /pool/base.qcow2`",
            id="no-base-volume",
        ),
        pytest.param(
            {}, {"host": with_base(format="raw")},
            "base volume base.qcow2 of pool default: libvirt takes it for raw", "unpack it",
            id="base-volume-no-qcow2",
        ),
        pytest.param(
            {}, {"host": with_base(capacity=32 * GIB + 1)},
            "base volume base.qcow2 of pool default: its virtual size is 32.00 GiB",
            "`pulumi config set --path bootstrap.disk_gib 33`",
            id="base-volume-larger-than-the-disk",
        ),
        pytest.param(
            {}, {"files": files(base="ff")},
            "base volume base.qcow2 of pool default: sha256 is ff, bootstrap.base_sha256 wants b0",
            "`pulumi config set --path bootstrap.base_sha256 ff`",
            id="base-volume-another-one",
        ),
        pytest.param(
            {}, {"files": files(base=errno.EACCES)},
            "base volume base.qcow2 of pool default: cannot be read (Permission denied)", f"`ls -l {BASE}`",
            id="base-volume-unreadable",
        ),
        pytest.param(
            {"base_sha256": ""}, {"files": files(base=errno.EACCES)},
            "base volume base.qcow2 of pool default: cannot be read (Permission denied)", f"`ls -l {BASE}`",
            id="base-volume-unreadable-without-digest",
        ),
        pytest.param(
            MANAGED, {"files": files(image="ff")},
            f"provisioner.base_image.source {IMAGE}: sha256 is ff, provisioner.base_image.sha256 wants e4",
            "`pulumi config set --path provisioner.base_image.sha256 ff`",
            id="image-another-one",
        ),
        pytest.param(
            MANAGED, {"files": files(image=errno.ENOENT)},
            f"provisioner.base_image.source {IMAGE}: cannot be read (No such file or directory)", f"`ls -l {IMAGE}`",
            id="image-missing",
        ),
        pytest.param(
            {}, {"bridges": {}},
            "bridge baremetal: not there", "`nmcli connection add type bridge con-name baremetal",
            id="no-bridge",
        ),
        pytest.param(
            {}, {"bridges": {"baremetal": Bridge(False, True, True)}},
            "bridge baremetal: no bridge", "then mend platform.baremetal.externalBridge",
            id="another-interface",
        ),
        pytest.param(
            {}, {"bridges": {"baremetal": Bridge(True, False, False)}},
            "bridge baremetal: down", "`nmcli connection up baremetal`, or `ip link set baremetal up`",
            id="bridge-down",
        ),
        pytest.param({}, {"tool": None}, "coreos-installer: neither", "`tools/coreos-installer`", id="no-installer"),
        pytest.param(
            {}, {"tool": Installer(Path("/bin/tool"), "")},
            "coreos-installer: /bin/tool cannot be run", "`tools/coreos-installer`",
            id="installer-does-not-run",
        ),
        pytest.param(
            {}, {"files": files(iso=errno.ENOENT)},
            f"base ISO: {ISO} is not there", f"`cp <live ISO> {ISO}`",
            id="no-base-iso",
        ),
        pytest.param(
            {}, {"files": files(iso="ff")},
            f"base ISO {ISO}: sha256 is ff", f"`rm {ISO}`",
            id="base-iso-another-one",
        ),
        pytest.param(
            {}, {"files": files(iso=errno.EACCES)},
            "base ISO: cannot be read (Permission denied)", f"`ls -l {ISO}`",
            id="base-iso-unreadable",
        ),
        pytest.param(
            {}, {"port": errno.EADDRNOTAVAIL},
            "media.address 192.0.2.1: on no interface of this host", "`pulumi config set --path media.address",
            id="foreign-address",
        ),
        pytest.param(
            {}, {"port": errno.EADDRINUSE},
            "media.port 8080: taken on 192.0.2.1", "`ss -ltnp 'sport = :8080'`",
            id="port-taken",
        ),
        pytest.param(
            {}, {"port": errno.EACCES},
            "media.port 8080: cannot be had on 192.0.2.1 (Permission denied)", "run as root",
            id="port-not-permitted",
        ),
    ],
)  # fmt: skip
def test_each_finding_is_one_line_that_says_how_to_mend_it(
    spec: dict[str, Any], world: dict[str, Any], what: str, mend: str
) -> None:
    (finding,) = seen(spec, **world).findings
    assert finding.what.startswith(what), finding
    assert mend in finding.mend
    assert "\n" not in str(finding)
    assert "not shown" not in str(finding)


@pytest.mark.parametrize(
    ("spec", "world", "unseen"),
    [
        pytest.param(
            {}, {"host": DOWN}, ["KVM, pool default, base volume base.qcow2: libvirt tells of them"],
            id="libvirt-down",
        ),
        pytest.param(
            {}, {"host": replace(HOST, pool=None)},
            ["base volume base.qcow2 and room: they are in pool default"],
            id="no-pool",
        ),
        pytest.param(
            {"base_sha256": ""}, {},
            ["base volume base.qcow2 of pool default: its digest: bootstrap.base_sha256 is not set"],
            id="no-digest-given",
        ),
        pytest.param(
            {"libvirt_uri": SSH}, {"bridges": {}, "files": files(base=errno.ENOENT)},
            [
                "base volume base.qcow2 of pool default: its digest, and whether it can be read: it lies on "
                "kvm.example.com",
                "bridge baremetal (platform.baremetal.externalBridge): it is on kvm.example.com",
            ],
            id="libvirt-elsewhere",
        ),
        pytest.param(
            {"base_iso_url": "https://user:hidden@mirror/x.iso"}, {"files": files(iso=errno.ENOENT)},
            ["base ISO: not in the cache; media.base_iso.url is fetched when a server is installed"],
            id="base-iso-by-url",
        ),
        pytest.param(
            {}, {"port": errno.EADDRNOTAVAIL},
            ["media.port 8080: media.address is not of this host"],
            id="foreign-address",
        ),
        pytest.param(
            {"media_address": ""}, {"port": errno.EADDRNOTAVAIL},
            ["media.url: asked for each server's boot ISO when it is installed"],
            id="web-server",
        ),
        pytest.param(
            MANAGED | {"image_source": "https://mirror/x"}, {"files": files(image=errno.ENOENT)},
            [
                "room in pool default: this run makes it (provisioner.manage)",
                "provisioner.base_image: source is a URL, fetched later in this run",
            ],
            id="managed-by-url",
        ),
    ],
)  # fmt: skip
def test_what_could_not_be_looked_at_is_said(spec: dict[str, Any], world: dict[str, Any], unseen: list[str]) -> None:
    assert seen(spec, **world).unseen == unseen


@pytest.mark.parametrize(
    ("spec", "world", "warning"),
    [
        pytest.param({}, {"host": replace(HOST, version=(8, 10, 3))}, "libvirt 8.10.3 is older than 9.0.0", id="old"),
        pytest.param(
            {"emulated": True}, {"host": replace(HOST, kvm=False)},
            "bootstrap.emulated: the VM runs in QEMU's emulation, without KVM: a small system took 6 s",
            id="emulated",
        ),
        pytest.param(
            {"emulated": True}, {},
            "bootstrap.emulated: the VM runs in QEMU's emulation, though this host has KVM",
            id="emulated-for-nothing",
        ),
        pytest.param(
            {}, {"bridges": {"baremetal": Bridge(True, True, False)}}, "bridge baremetal: none of its ports",
            id="alone",
        ),
        pytest.param(
            {}, {"tool": Installer(Path("/bin/tool"), "0.26.0")},
            f"coreos-installer 0.26.0 at /bin/tool: this program was tried with {INSTALLER_VERSION}",
            id="other-installer",
        ),
    ],
)  # fmt: skip
def test_what_can_be_lived_with_is_a_warning(spec: dict[str, Any], world: dict[str, Any], warning: str) -> None:
    verdict = seen(spec, **world)
    verdict.refuse()
    (line,) = verdict.warnings
    assert line.startswith(warning)


def test_room_that_the_vm_has_already_is_room_for_it() -> None:
    own = {name: replace(VOLUME, allocation=GIB) for name in ("okd-bootstrap.qcow2", "okd-bootstrap.ign")}
    other = {"other.qcow2": replace(VOLUME, allocation=50 * GIB)}
    little = with_pool(free=POOL.free - 2 * GIB, volumes={"base.qcow2": VOLUME, **own, **other})
    assert seen(host=little).lines() == []
    assert len(seen(host=with_pool(free=POOL.free - 2 * GIB - 1, volumes=little.pool.volumes)).findings) == 1  # type: ignore[union-attr]


def test_a_managed_pool_is_not_looked_for() -> None:
    world = World(host=replace(HOST, pool=None))
    verdict = judge(replace(SPEC, **MANAGED), world)
    verdict.refuse()
    ((_, pool, _),) = world.asked
    assert pool is None


def test_what_is_there_of_the_payload_is_judged_though_a_file_is_missing() -> None:
    contents = payloads.payload()
    del contents["master"]
    missing, useless = seen(contents=contents, time=payloads.NOW + timedelta(days=1)).findings
    assert str(missing) == "master is not f1; mend: bring it"
    assert useless.what.startswith("stacks/prod/payload/bootstrap.ign: useless since 2026-11-21 14:03 UTC")
    assert useless.mend.startswith("generate the payload anew")


def test_a_payload_of_another_cluster_is_told_file_by_file() -> None:
    found = seen({"domain": "other.example.com"}).findings
    assert [each.what.partition(": ")[0] for each in found] == [
        f"stacks/prod/payload/{name}.ign" for name in ("bootstrap", "master", "worker")
    ]


def test_production_reads_the_pointers_alone() -> None:
    pointers = payloads.payload(lambda files: files.pop("bootstrap"))
    later = payloads.NOW + timedelta(days=300)
    assert seen({"phase": "production"}, contents=pointers, time=later).lines() == []
    assert len(seen({"phase": "production"}, contents={}).findings) == 2


def test_production_needs_nothing_of_the_vm() -> None:
    world = World(host=DOWN, bridges={}, files={ISO: "d3"})
    verdict = judge(replace(SPEC, phase="production"), world)
    assert (verdict.lines(), world.asked) == ([], [])
    assert (verdict.libvirt_version, verdict.kvm) == (None, None)


def test_production_needs_all_of_the_rollout() -> None:
    verdict = seen({"phase": "production"}, files={}, tool=None, port=errno.EADDRINUSE)
    assert [finding.what.split(":")[0] for finding in verdict.findings] == [
        "coreos-installer",
        "base ISO",
        "media.port 8080",
    ]


def test_all_findings_are_one_error_with_a_line_each() -> None:
    host = replace(with_pool(free=0, volumes={"base.qcow2": VOLUME}), kvm=False, version=(8, 0, 0))
    verdict = seen(
        host=host, bridges={}, files=files(base="ff", iso=errno.ENOENT), tool=None, port=errno.EADDRNOTAVAIL
    )
    with pytest.raises(PreflightError) as caught:
        verdict.refuse()
    head, *lines = str(caught.value).split("\n    ")
    assert head == "this host is not ready, 7 findings; nothing was touched"
    starts = [
        "KVM: ", "pool default: 0.00 GiB free", "base volume base.qcow2 of pool default: sha256",
        "bridge baremetal: ", "coreos-installer: ", "base ISO: ", "media.address 192.0.2.1: ",
        "warning: libvirt 8.0.0", "not looked at: media.port 8080",
    ]  # fmt: skip
    assert len(lines) == len(starts)
    for line, start in zip(lines, starts, strict=True):
        assert line.startswith(start)
    assert all("; mend: " in line for line in lines[:7])
