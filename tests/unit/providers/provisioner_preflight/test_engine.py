"""The preflight of the provisioner: each fault with its fix, all of them at once, and what could not be probed."""

import errno
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from base.errors import HypervisorError, PreflightError
from boot_media.disk_image import DiskImage
from boot_media.tools import COREOS_INSTALLER_VERSION, SCRIPTS
from cluster.options import BaseImage
from providers.provisioner_preflight.engine import check_provisioner
from providers.provisioner_preflight.findings import GIB
from providers.provisioner_preflight.model import Bridge, Tool
from testing.fakes.provisioner import (
    BASE,
    BASE_IMAGE,
    DOWN,
    HOST,
    IMAGE,
    ISO,
    MANAGED,
    POOL,
    SSH,
    VOLUME,
    FakeProvisioner,
    files,
    result_of,
    spec_with,
    with_base,
    with_pool,
)
from wires.libvirt.hypervisor import NO_ACCESS

BUILD_IT = f"`{SCRIPTS}/coreos-installer`"
TO_COME = replace(HOST, pool=None)
"""libvirt before the first `up` with `manage`."""
URI = "qemu:///system"
OF_ANOTHER = BaseImage(source=IMAGE, sha256="ab" * 32).volume("prod")


def test_a_good_provisioner_has_no_faults() -> None:
    result, facts = check_provisioner(spec_with(), FakeProvisioner())
    assert (result.lines(), facts) == ([], HOST)
    result.refuse()


@pytest.mark.parametrize(
    ("spec", "world", "line", "fix"),
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
            "pool default: missing", "correct bootstrap.pool to one of `virsh -c qemu:///system pool-list --all`, or",
            id="no-pool",
        ),
        pytest.param(
            {"libvirt_uri": "qemu+unix:///system?socket=/x"}, {"host": with_pool(active=False, free=0, volumes={})},
            "pool default: not active", "`virsh -c 'qemu+unix:///system?socket=/x' pool-start default`",
            id="pool-inactive",
        ),
        pytest.param(
            {}, {"host": with_pool(free=POOL.free - GIB)},
            "pool default: 31.02 GiB free, 32.02 GiB wanted", "free space on the file system of /pool, or",
            id="no-room",
        ),
        pytest.param(
            {}, {"host": with_pool(volumes={})},
            "base volume base.qcow2 of pool default: missing", "`cp <qcow2> /pool/base.qcow2`",
            id="no-base-volume",
        ),
        pytest.param(
            {}, {"host": with_base(format="raw")},
            "base volume base.qcow2 of pool default: libvirt reports its format as raw", "unpack it",
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
            MANAGED, {"host": TO_COME, "files": files(image="ff")},
            f"provisioner.base_image.source {IMAGE}: sha256 is ff, provisioner.base_image.sha256 wants e4",
            "`pulumi config set --path provisioner.base_image.sha256 ff`",
            id="image-another-one",
        ),
        pytest.param(
            MANAGED, {"host": TO_COME, "files": files(image=errno.ENOENT)},
            f"provisioner.base_image.source {IMAGE}: missing", f"put the file at {IMAGE}, or correct",
            id="image-missing",
        ),
        pytest.param(
            MANAGED, {"host": TO_COME, "files": files(image=errno.EACCES)},
            f"provisioner.base_image.source {IMAGE}: cannot be read (Permission denied)", f"`ls -l {IMAGE}`",
            id="image-unreadable",
        ),
        pytest.param(
            MANAGED, {"host": TO_COME, "files": files(image="ff"), "image": DiskImage("gzip", GIB, 0)},
            f"provisioner.base_image.source {IMAGE}: its format is gzip, wanted qcow2",
            "unpack it (`gunzip`), then set provisioner.base_image.source to the new file and "
            "provisioner.base_image.sha256 to its `sha256sum`",
            id="image-packed",
        ),
        pytest.param(
            MANAGED, {"host": TO_COME, "image": DiskImage("raw", GIB, 0)},
            f"provisioner.base_image.source {IMAGE}: its format is raw, wanted qcow2", "`qemu-img convert -O qcow2 ",
            id="image-raw",
        ),
        pytest.param(
            MANAGED, {"host": TO_COME, "image": replace(BASE_IMAGE, needs="the file that has its data")},
            f"provisioner.base_image.source {IMAGE}: it needs the file that has its data", "name another image",
            id="image-overlay",
        ),
        pytest.param(
            MANAGED, {"host": TO_COME, "image": replace(BASE_IMAGE, virtual_size=32 * GIB + 1)},
            f"provisioner.base_image.source {IMAGE}: its virtual size is 32.00 GiB",
            "`pulumi config set --path bootstrap.disk_gib 33`",
            id="image-larger-than-the-disk",
        ),
        pytest.param(
            MANAGED, {"host": with_pool(volumes={"okd-base-e4.qcow2": replace(VOLUME, capacity=33 * GIB)})},
            "base volume okd-base-e4.qcow2 of pool default: its virtual size is 33.00 GiB",
            "`pulumi config set --path bootstrap.disk_gib 33`",
            id="own-volume-larger-than-the-disk",
        ),
        pytest.param(
            {}, {"host": HypervisorError("libvirt is not reachable: Permission denied", where=URI, fix=NO_ACCESS)},
            "qemu:///system: libvirt is not reachable: Permission denied", "`usermod --append --groups libvirt",
            id="no-access-to-libvirt",
        ),
        pytest.param(
            {}, {"bridges": {}},
            "bridge baremetal: missing", "`nmcli connection add type bridge con-name baremetal",
            id="no-bridge",
        ),
        pytest.param(
            {}, {"bridges": {"baremetal": Bridge(is_bridge=False, up=True, linked=True)}},
            "bridge baremetal: an interface that is not a bridge", "then correct platform.baremetal.externalBridge",
            id="another-interface",
        ),
        pytest.param(
            {}, {"bridges": {"baremetal": Bridge(is_bridge=True, up=False, linked=False)}},
            "bridge baremetal: down", "`nmcli connection up baremetal`, or `ip link set baremetal up`",
            id="bridge-down",
        ),
        pytest.param({}, {"tool": None}, "coreos-installer: neither", BUILD_IT, id="no-installer"),
        pytest.param(
            {}, {"tool": Tool(path=Path("/bin/tool"), version="")},
            "coreos-installer: /bin/tool cannot be run", BUILD_IT,
            id="installer-does-not-run",
        ),
        pytest.param(
            {}, {"files": files(iso=errno.ENOENT)},
            f"base ISO: {ISO} is missing", f"`cp <live ISO> {ISO}`",
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
            "media.port 8080: cannot be opened on 192.0.2.1 (Permission denied)", "run as root",
            id="port-not-permitted",
        ),
    ],
)  # fmt: skip
def test_each_finding_is_one_line_with_its_fix(
    spec: dict[str, Any], world: dict[str, Any], line: str, fix: str
) -> None:
    (fault,) = result_of(spec, **world).faults
    assert str(fault).startswith(line), fault
    assert fix in fault.fix
    assert "\n" not in str(fault)
    assert "not shown" not in str(fault)


@pytest.mark.parametrize(
    ("spec", "world", "unseen"),
    [
        pytest.param(
            {}, {"host": DOWN}, ["KVM, pool default, base volume base.qcow2: only libvirt can report them"],
            id="libvirt-down",
        ),
        pytest.param(
            {}, {"host": replace(HOST, pool=None)},
            ["base volume base.qcow2 and room: both are in pool default"],
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
                "base volume base.qcow2 of pool default: its digest, and whether it can be read: it is on "
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
            MANAGED | {"image_source": "https://mirror/x"}, {"host": TO_COME},
            ["base image: not in the cache; provisioner.base_image.source is fetched once all else is ready"],
            id="managed-by-url",
        ),
        pytest.param(
            MANAGED | {"libvirt_uri": SSH}, {"host": replace(HOST, pool=None), "bridges": {}},
            [
                "room for pool default: it will be on kvm.example.com",
                "bridge baremetal (platform.baremetal.externalBridge): it is on kvm.example.com",
            ],
            id="managed-elsewhere",
        ),
    ],
)  # fmt: skip
def test_what_cannot_be_probed_is_listed(spec: dict[str, Any], world: dict[str, Any], unseen: list[str]) -> None:
    assert result_of(spec, **world).not_probed == unseen


@pytest.mark.parametrize(
    ("spec", "world", "warning"),
    [
        pytest.param({}, {"host": replace(HOST, version=(8, 10, 3))}, "libvirt: 8.10.3 is older than", id="old"),
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
            {"base_volume": OF_ANOTHER},
            {"host": with_pool(volumes={OF_ANOTHER: VOLUME})},
            f"base volume {OF_ANOTHER} of pool default: a stack with provisioner.manage has made it, and deletes it",
            id="volume-of-another-stack",
        ),
        pytest.param(
            {}, {"bridges": {"baremetal": Bridge(is_bridge=True, up=True, linked=False)}},
            "bridge baremetal: none of its ports has a link. Fix: make the card of the machine network its port",
            id="alone",
        ),
        pytest.param(
            {}, {"tool": Tool(path=Path("/bin/tool"), version="0.26.0")},
            f"coreos-installer: version 0.26.0 at /bin/tool: this program was tested with {COREOS_INSTALLER_VERSION}",
            id="other-installer",
        ),
    ],
)  # fmt: skip
def test_a_tolerable_finding_is_a_warning(spec: dict[str, Any], world: dict[str, Any], warning: str) -> None:
    result = result_of(spec, **world)
    result.refuse()
    (line,) = result.warnings
    assert line.startswith(warning)


@pytest.mark.parametrize(
    ("capacity", "lines"),
    [
        (32 * GIB - 1, []),
        (32 * GIB, []),
        (32 * GIB + 1, ["base volume base.qcow2 of pool default: its virtual size is 32.00 GiB, bootstrap.disk_gib"]),
    ],
    ids=["smaller", "exactly-as-large", "larger"],
)
def test_a_base_volume_may_be_as_large_as_the_disk_and_no_larger(capacity: int, lines: list[str]) -> None:
    result = result_of(host=with_base(capacity=capacity)).lines()
    assert len(result) == len(lines)
    assert all(each.startswith(line) for each, line in zip(result, lines, strict=True))


def test_space_that_the_vm_already_uses_counts_as_free() -> None:
    own = {name: replace(VOLUME, allocation=GIB) for name in ("okd-bootstrap.qcow2", "okd-bootstrap.ign")}
    other = {"other.qcow2": replace(VOLUME, allocation=50 * GIB)}
    little = with_pool(free=POOL.free - 2 * GIB, volumes={"base.qcow2": VOLUME, **own, **other})
    assert result_of(host=little).lines() == []
    assert len(result_of(host=with_pool(free=POOL.free - 2 * GIB - 1, volumes=little.pool.volumes)).faults) == 1  # type: ignore[union-attr]


@pytest.mark.parametrize(
    ("world", "lines"),
    [
        pytest.param({}, [], id="room"),
        pytest.param(
            {"room": 33 * GIB},
            [
                "pool default: 33.00 GiB free, 33.02 GiB wanted: bootstrap.disk_gib is 32, and Ignition, and 1.00 "
                "GiB of base image. Fix: free space on the file system of /srv/okd, or lower bootstrap.disk_gib"
            ],
            id="no-room",
        ),
        pytest.param(
            {"room": NotADirectoryError(errno.ENOTDIR, "Not a directory", "/srv")},
            [
                "provisioner.pool_path /srv/okd: /srv is in the way (Not a directory). Fix: name another "
                "folder, or move that aside"
            ],
            id="a-file-in-the-way",
        ),
    ],
)
def test_the_folder_of_a_managed_pool_must_have_room(world: dict[str, Any], lines: list[str]) -> None:
    assert result_of(MANAGED, host=replace(HOST, pool=None), **world).lines() == lines


@pytest.mark.parametrize("spec", [{}, MANAGED], ids=["by-hand", "managed"])
def test_libvirt_is_asked_for_the_pool(spec: dict[str, Any]) -> None:
    world = FakeProvisioner()
    check_provisioner(spec_with(**spec), world)
    ((_, pool, _),) = world.asked
    assert pool == "default"


def test_a_managed_pool_that_exists_must_be_active_and_have_room() -> None:
    """It is there from the second `up` on, with the base volume: the image is not needed any more."""
    made = {"okd-base-e4.qcow2": VOLUME}
    gone = files(image=errno.ENOENT)
    assert result_of(MANAGED, host=with_pool(volumes=made), room=0, files=gone).lines() == []
    (line,) = result_of(MANAGED, host=with_pool(active=False)).lines()
    assert line == "pool default: not active. Fix: `virsh -c qemu:///system pool-start default`"


@pytest.mark.parametrize(
    ("uploaded", "free", "findings"), [(GIB, 0, 0), (GIB // 2, GIB // 2, 0), (GIB // 2, GIB // 2 - 1, 1)]
)
def test_the_rest_of_an_upload_needs_room(uploaded: int, free: int, findings: int) -> None:
    """N4, D7: image and disk have to fit beside each other."""
    made = {"okd-base-e4.qcow2": replace(VOLUME, allocation=uploaded)}
    host = with_pool(free=POOL.free + free, volumes=made)
    assert len(result_of(MANAGED, host=host).faults) == findings


def test_an_image_of_the_cache_has_the_digest_of_its_name() -> None:
    by_url = MANAGED | {"image_source": "https://mirror/x", "image_sha256": "d3"}
    assert result_of(by_url, host=TO_COME).not_probed == []
    other = files() | {"/cache/e5": "e6"}
    (line,) = result_of(by_url | {"image_sha256": "e5"}, host=TO_COME, files=other).lines()
    assert line == (
        "base image /cache/e5: sha256 is e6, provisioner.base_image.sha256 wants the one in its name. Fix: "
        "`rm /cache/e5`; the next `pulumi up` fetches it again"
    )
    packed = DiskImage("xz", GIB, 0)
    (line,) = result_of(by_url, host=TO_COME, image=packed).lines()
    assert "Fix: download it, unpack it (`unxz`), then set provisioner.base_image.source to the new file" in line


def test_a_later_check_leaves_out_the_port_of_a_run_that_was_killed() -> None:
    result, _ = check_provisioner(spec_with(), FakeProvisioner(port=errno.EADDRINUSE), again=True)
    assert result.lines() == []


def test_production_does_not_need_what_only_the_vm_needs() -> None:
    world = FakeProvisioner(host=DOWN, bridges={}, files={ISO: "d3"})
    result, facts = check_provisioner(spec_with(phase="production"), world)
    assert (result.lines(), world.asked, facts) == ([], [], None)


def test_production_needs_everything_that_the_rollout_needs() -> None:
    result = result_of({"phase": "production"}, files={}, tool=None, port=errno.EADDRINUSE)
    assert [fault.where for fault in result.faults] == [
        "coreos-installer",
        "base ISO",
        "media.port 8080",
    ]


def test_all_findings_are_one_error_with_a_line_each() -> None:
    host = replace(with_pool(free=0, volumes={"base.qcow2": VOLUME}), kvm=False, version=(8, 0, 0))
    result = result_of(
        host=host, bridges={}, files=files(base="ff", iso=errno.ENOENT), tool=None, port=errno.EADDRNOTAVAIL
    )
    with pytest.raises(PreflightError) as caught:
        result.refuse()
    head, *lines = str(caught.value).split("\n    ")
    assert head == "this host is not ready, 7 findings; nothing was touched"
    starts = [
        "KVM: ", "pool default: 0.00 GiB free", "base volume base.qcow2 of pool default: sha256",
        "bridge baremetal: ", "coreos-installer: ", "base ISO: ", "media.address 192.0.2.1: ",
        "warning: libvirt: 8.0.0", "not probed: media.port 8080",
    ]  # fmt: skip
    assert len(lines) == len(starts)
    for line, start in zip(lines, starts, strict=True):
        assert line.startswith(start)
    assert all(". Fix: " in line for line in lines[:7])
