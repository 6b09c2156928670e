"""The rendered dnsmasq and proxy of the provisioning network, as its machines see them."""

import json
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from assets.file import Files
from assets.render import render
from assets.services import DNSMASQ
from testing import clusters
from testing.checkout import ROOT
from testing.dhcp_client import DNS, ROUTER, Answer
from testing.namespaces import MORTAL, SBIN, in_own_network, ip, needs_root, neighbour, run_on_a_machine
from testing.scene.machine import confined, until

pytestmark = needs_root

BRIDGE = "provisioning"
CONTROL_PLANE = "52:54:00:11:10:15"
COMPUTE = "52:54:00:11:10:18"
STRANGER = "52:54:00:ff:ff:ff"


class Server:
    """A machine with the rendered dnsmasq."""

    def __init__(self, inside: list[str], folder: Path, files: Files, tftp: Path | None = None) -> None:
        """Without a folder of iPXE, it serves texts in place of that."""
        self.inside, self.folder, self.tftp = inside, folder, tftp
        (text,) = (file.text for file in files if file.name == "dnsmasq.conf")
        folder.mkdir()
        self.text = text

    @contextmanager
    def running(self) -> Iterator[list[str]]:
        """Run it, and yield its log, which is complete at the end.

        Its user can read the folder of iPXE, which is not below pytest's: these are root's alone.
        """
        with TemporaryDirectory(dir="/tmp") as tftp:
            Path(tftp).chmod(0o755)
            for name in ("undionly.kpxe", "snponly.efi"):
                (Path(tftp) / name).write_text(f"this is {name}\n")
            (self.folder / "dnsmasq.conf").write_text(self.text.replace("/tftpboot", str(self.tftp or tftp)))
            with self._running() as log:
                yield log

    @contextmanager
    def _running(self) -> Iterator[list[str]]:
        command = [
            *MORTAL,
            *self.inside,
            *confined(DNSMASQ),
            "dnsmasq",
            "--keep-in-foreground",
            f"--conf-file={self.folder}/dnsmasq.conf",
        ]
        log: list[str] = []
        with subprocess.Popen(command, stderr=subprocess.PIPE, text=True, env={"PATH": SBIN}) as program:
            assert program.stderr
            for line in program.stderr:
                log.append(line)
                if "TFTP root" in line:
                    break
            assert program.poll() is None, "".join(log)
            self.status = Path(f"/proc/{program.pid}/status").read_text()
            try:
                yield log
            finally:
                program.terminate()
                log += program.stderr


def ask(inside: list[str], mac: str, client: str, answers: int, *accept: str) -> list[Answer]:
    """Have a machine ask for an address, or accept what a server has offered; return its first answers, by server."""
    command = [*inside, sys.executable, "-m", "testing.dhcp_client", mac, client, str(answers), *accept]
    run = subprocess.run(command, capture_output=True, text=True, check=False, cwd=ROOT)
    assert run.returncode == 0, run.stderr
    return sorted((Answer(**json.loads(line)) for line in run.stdout.splitlines()), key=lambda each: each.server)


def tftp_servers(inside: list[str]) -> set[str]:
    """Return the addresses of a machine at which TFTP is served."""
    run = subprocess.run([*inside, "ss", "-Hlnu", "sport = :69"], capture_output=True, text=True, check=True)
    return {line.split()[3].rpartition(":")[0] for line in run.stdout.splitlines()}


def files_of(name: str, cluster: str = "managed") -> Files:
    return render(clusters.intent(cluster)).folders[name]


@pytest.mark.parametrize(
    ("client", "boot_file"),
    [
        ("bios", "undionly.kpxe"),
        ("uefi", "snponly.efi"),
        ("uefi-9", "snponly.efi"),
        ("uefi-http", ""),
        ("ipxe", "http://172.22.0.2:6180/boot.ipxe"),
    ],
)
def test_a_known_server_gets_its_address_and_what_its_firmware_boots(
    client: str, boot_file: str, tmp_path: Path
) -> None:
    def seen() -> tuple[list[Answer], str]:
        ip(f"link add {BRIDGE} type bridge forward_delay 0")
        ip(f"link set {BRIDGE} up")
        vm_mac, other = "52:54:00:00:00:01", "192.168.111.20/24"
        with ExitStack() as stack:
            vm = stack.enter_context(neighbour(BRIDGE, "vm", vm_mac, other))
            host = stack.enter_context(neighbour(BRIDGE, "host", CONTROL_PLANE))
            with Server(vm, tmp_path / "vm", files_of("bootstrap")).running():
                # The card gets its address when dnsmasq runs already.
                subprocess.check_call([*vm, *["ip", "address", "add", "172.22.0.2/24", "dev", "eth0"]])
                until("TFTP at that address alone", lambda: tftp_servers(vm) == {"172.22.0.2"})
                found = ask(host, CONTROL_PLANE, client, 1)
                subprocess.check_call([*host, *["ip", "address", "add", "172.22.0.10/24", "dev", "eth0"]])
                if not boot_file.endswith((".kpxe", ".efi")):
                    return found, ""
                fetch = [*host, "curl", "-sm", "10", f"tftp://{found[0].next_server}/{found[0].boot_file}"]
                got = subprocess.run(fetch, capture_output=True, text=True, check=False, env={"PATH": SBIN})
        return found, got.stdout

    found, got = in_own_network(seen)
    assert [(each.kind, each.address, each.boot_file) for each in found] == [("offer", "172.22.0.10", boot_file)]
    assert found[0].next_server == "172.22.0.2"
    assert ROUTER in found[0].options  # provisioningNetworkGateway
    assert DNS not in found[0].options
    assert got == (f"this is {boot_file}\n" if boot_file.endswith((".kpxe", ".efi")) else "")


def test_each_node_gives_compute_the_same_answer_and_strangers_none(tmp_path: Path) -> None:
    macs = {"okd-master-0": ("a", "172.22.0.10"), "okd-master-1": ("b", "172.22.0.11")}

    def seen() -> tuple[list[list[Answer]], list[str]]:
        ip(f"link add {BRIDGE} type bridge forward_delay 0")
        ip(f"link set {BRIDGE} up")
        with ExitStack() as stack:
            servers = [
                Server(
                    stack.enter_context(
                        neighbour(BRIDGE, f"node-{port}", f"52:54:00:00:00:0{port}", f"{address}/24")
                    ),
                    tmp_path / name,
                    files_of(f"hosts/{name}"),
                )
                for name, (port, address) in macs.items()
            ]
            host = stack.enter_context(neighbour(BRIDGE, "host", COMPUTE))
            answers = []
            with servers[1].running() as log:
                with servers[0].running():
                    answers.append(ask(host, COMPUTE, "uefi", 2))
                    answers.append(ask(host, COMPUTE, "uefi", 1, "172.22.0.10", "172.22.0.13"))
                    ask(host, STRANGER, "uefi", 0)
                    ask(host, CONTROL_PLANE, "uefi", 0)
                    answers.append(ask(host, COMPUTE, "ipxe", 2))
                with servers[0].running():
                    answers.append(ask(host, COMPUTE, "ipxe", 2))
            assert all("\nUid:\t65534\t65534" in server.status for server in servers), "nobody, not root (S25)"
        return answers, log

    (offers, accepted, again, restarted), log = in_own_network(seen)
    assert [(each.server, each.address) for each in offers] == [
        ("172.22.0.10", "172.22.0.13"),
        ("172.22.0.11", "172.22.0.13"),
    ]
    # The other server would refuse what the client accepts if it were authoritative: its refusal would be in `again`.
    assert [(each.kind, each.server, each.address) for each in accepted] == [("ack", "172.22.0.10", "172.22.0.13")]
    assert {(each.kind, each.address, each.boot_file) for each in again} == {
        ("offer", "172.22.0.13", "http://172.22.0.3:6180/boot.ipxe")
    }
    assert restarted == again
    answered = [line for line in log if "DHCPOFFER" in line or "DHCPACK" in line or "DHCPNAK" in line]
    assert {line.split(" ")[-2] for line in answered} == {COMPUTE}
    assert [mac for mac in (STRANGER, CONTROL_PLANE) if not any(f"{mac} ignored" in line for line in log)] == []


PROXY = """
    asked() {{ curl -gsm 10 -o {folder}/got -w "%{{http_code}} " "http://$1:6180/boot.ipxe" || true; }}
    haproxy -db -f {folder}/provisioning.cfg 2>{folder}/log &
    until bash {folder}/okd-check.sh 6180 /provisioning_proxy_ready 2>/dev/null; do sleep 0.02; done
    asked 127.0.0.1
    coproc {{ exec {python} -c '{program}' {folder}; }}
    read -r <&"${{COPROC[0]}}"
    ip address add {vip} dev lo
    asked {host}
    """
PROGRAM = """
import http.server, sys
class Program(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        self.send_response(200)
        self.end_headers()
        self.wfile.write(b"the program says " + self.path.encode())
    def log_message(self, *words): pass
server = http.server.HTTPServer(("127.0.0.1", 8080), Program)
print("listens", flush=True)
server.serve_forever()
"""


@pytest.mark.parametrize(
    ("cluster", "vip", "host"),
    [("managed", "172.22.0.3/32", "172.22.0.3"), ("managed-ipv6", "fd00:1101::3/128", "[fd00:1101::3]")],
    ids=["ipv4", "ipv6"],
)
def test_the_proxy_reports_a_stopped_program_at_once_and_serves_a_late_vip(
    cluster: str, vip: str, host: str, tmp_path: Path
) -> None:
    files = {file.name: file.text for file in files_of("control-plane", cluster)}
    assert "server program 172.22.0.1:8080\n" in files["provisioning.cfg"]
    (tmp_path / "provisioning.cfg").write_text(files["provisioning.cfg"].replace("172.22.0.1:", "127.0.0.1:"))
    (tmp_path / "okd-check.sh").write_text(files["okd-check.sh"])
    script = PROXY.format(folder=tmp_path, python=sys.executable, program=PROGRAM, vip=vip, host=host)
    run = run_on_a_machine(script, tmp_path)
    assert run.stdout == "503 200 ", run.stderr
    assert (tmp_path / "got").read_text() == "the program says /boot.ipxe"
