"""The rendered dnsmasq of a provisioning network of IPv6, as real UEFI and iPXE see it: edk2 in QEMU, without KVM."""

import http.server
import socket
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from threading import Thread

import pytest

from assets.contract import BOOT_SCRIPT, PROVISIONING_PORT
from boot_media.netboot import BOOT_SCRIPT_TEXT, script_name
from lab.firmware import NVRAM, UEFI
from testing.namespaces import MORTAL, SBIN, in_own_network, ip, needs_root
from testing.scene.machine import until
from tests.wire.test_network_boot import BRIDGE, CONTROL_PLANE, Server, files_of

pytestmark = [needs_root, pytest.mark.alone]

BOOTSTRAP = "fd00:1101::2"
BOOT_S = 280.0
"""50 s on an idle core, most of it for the firmware's first try over IPv4, which nobody answers."""
TAP = "server"


@contextmanager
def program() -> Iterator[list[str]]:
    """Answer as the proxy does: the first script, and no other; yield the paths that were asked for."""
    asked: list[str] = []

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            asked.append(self.path)
            known = self.path == f"/{BOOT_SCRIPT}"
            self.send_response(200 if known else 404)
            self.end_headers()
            self.wfile.write(BOOT_SCRIPT_TEXT.encode() if known else b"")

        def log_message(self, *words: object) -> None: ...

    class Ipv6Server(http.server.ThreadingHTTPServer):
        address_family = socket.AF_INET6

    with Ipv6Server((BOOTSTRAP, PROVISIONING_PORT), Handler) as server:
        Thread(target=server.serve_forever, daemon=True).start()
        try:
            yield asked
        finally:
            server.shutdown()


@contextmanager
def booting(folder: Path) -> Iterator[None]:
    """Run a server that boots from its card, behind other programs of the machine."""
    (folder / "vars.fd").write_bytes(Path(NVRAM).read_bytes())
    ip(f"tuntap add {TAP} mode tap")
    ip(f"link set {TAP} master {BRIDGE} up")
    flash = (
        f"if=pflash,format=raw,unit=0,readonly=on,file={UEFI}",
        f"if=pflash,format=raw,unit=1,file={folder}/vars.fd",
    )
    command = [
        *MORTAL,
        *("nice", "-n", "10", "qemu-system-x86_64", "-machine", "q35,smm=on,accel=tcg", "-m", "256", "-no-reboot"),
        *("-display", "none", "-serial", f"file:{folder}/console", "-monitor", "none"),
        *("-global", "driver=cfi.pflash01,property=secure,value=on", "-drive", flash[0], "-drive", flash[1]),
        *("-fw_cfg", "name=opt/org.tianocore/IPv4PXESupport,string=n"),
        *("-netdev", f"tap,id=there,ifname={TAP},script=no,downscript=no"),
        *("-device", f"virtio-net-pci,netdev=there,mac={CONTROL_PLANE},bootindex=1,romfile="),
    ]
    with subprocess.Popen(command, env={"PATH": SBIN}) as server:
        try:
            yield
        finally:
            server.kill()


def test_uefi_gets_ipxe_and_ipxe_its_own_script_over_ipv6(tmp_path: Path) -> None:
    """One boot asks DHCP as three clients with one MAC; with a single address each but the first is refused."""

    def seen() -> tuple[list[str], list[str]]:
        ip(f"link add {BRIDGE} type bridge forward_delay 0")
        ip(f"link set {BRIDGE} up")
        ip(f"address add {BOOTSTRAP}/64 dev {BRIDGE} nodad")
        server = Server([], tmp_path / "vm", files_of("bootstrap", "managed-ipv6"), Path("/usr/lib/ipxe"))
        with server.running() as log, program() as asked, booting(tmp_path):
            until("the script of the server", lambda: f"/{script_name(CONTROL_PLANE)}" in asked, BOOT_S)
        return asked, log

    asked, log = in_own_network(seen)
    assert asked[:2] == [f"/{BOOT_SCRIPT}", f"/{script_name(CONTROL_PLANE)}"]
    given = {line.split()[-3] for line in log if "DHCPREPLY" in line}
    assert given <= {f"fd00:1101::{last:x}" for last in range(0x10, 0x18)}
    assert len(given) > 1
