"""The checks and the channel, run on a test machine with its own network, /etc and /run."""

import os
import re
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest

from assets import contract
from assets.keepalived import OWN_API_GONE_S
from assets.render import render_bootstrap, render_role
from cluster.plan import ClusterPlan, Role
from cluster.values.vrrp import API, GIVES_UP
from testing import clusters
from testing.fakes.virtio_port import PORT, VirtioPort, virtio_port
from testing.namespaces import SBIN, needs_root, run_on_a_machine
from testing.scene.machine import until

pytestmark = needs_root

ROUTER = "ingresscontroller.operator.openshift.io/deployment-ingresscontroller=default"
LET_GO = API["release"].release


READYZ = """
import http.server, ssl, sys
class Api(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        self.send_response(int(sys.argv[2]) if self.path == "/readyz" else 404)
        self.end_headers()
    def log_message(self, *words): pass
server = http.server.ThreadingHTTPServer(("", 6443), Api)
context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
context.load_cert_chain(sys.argv[1])
server.socket = context.wrap_socket(server.socket, server_side=True, do_handshake_on_connect=False)
print("listens", flush=True)
server.serve_forever()
"""


def api(certificate: str, status: int) -> str:
    """Bash that runs an API which answers /readyz with `status`, and has listened before it goes on."""
    return f"""
        coproc {{ exec {sys.executable} -c '{READYZ}' {certificate} {status}; }}
        read -r <&"${{COPROC[0]}}"; api=$COPROC_PID
        """


STOP_API = "kill $api; wait $api || true\n"


def test_the_check_of_the_own_api_passes_only_while_the_api_is_ready(scripts: Path, certificate: str) -> None:
    """A bootstrap VM that was started again must not outrank a node that serves."""
    check = f'if {scripts}/bin/okd-own-api.sh; then echo "$what up"; else echo "$what down"; fi\n'
    run = run_on_a_machine(
        f"what=before; {check}"
        + f"{api(certificate, 503)} what=starting; {check} {STOP_API}"
        + f"{api(certificate, 200)} what=ready; {check} {STOP_API}"
        + f"what=gone; {check}"
        + f"{api(certificate, 500)} what=broken; {check} {STOP_API}"
        + f"{api(certificate, 200)} what=again; {check} {STOP_API}",
        scripts,
    )
    assert run.returncode == 0, run.stderr
    assert run.stdout.split("\n")[:-1] == [
        "before down", "starting down", "ready up", "gone down", "broken down", "again up"
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("ago_s", "status"),
    [(None, 0), (0, 0), (OWN_API_GONE_S - 2, 0), (OWN_API_GONE_S + 2, 1)],
    ids=["never-ready", "ready", "ready-lately", "gone"],
)
def test_the_own_api_is_gone_some_seconds_after_it_was_ready(scripts: Path, ago_s: int | None, status: int) -> None:
    was_ready = "" if ago_s is None else f"echo $((up_s - {ago_s})) > {contract.RUN}/own-api-was-ready; "
    run = run_on_a_machine(
        f"read -r up_s _ < /proc/uptime; up_s=${{up_s%.*}}; {was_ready}{scripts}/bin/okd-own-api.sh {OWN_API_GONE_S}",
        scripts,
    )
    assert run.returncode == status, run.stderr


SILENT = f"""
    coproc {{ exec {sys.executable} -c 'import socket, time
with socket.create_server(("", 6443)): print("listens", flush=True); time.sleep(60)'; }}
    read -r <&"${{COPROC[0]}}"; api=$COPROC_PID
    """


def test_the_check_of_a_silent_own_api_fails_before_keepalived_ends_it(scripts: Path, plan: ClusterPlan) -> None:
    (conf,) = (file.text for file in render_bootstrap(plan) if file.name == "keepalived.conf")
    text = (scripts / "bin/okd-own-api.sh").read_text()
    ((waits,), (patience,)) = re.findall(r"--max-time (\d+) ", text), re.findall(r" timeout (\d+)\n", conf)
    assert int(waits) < int(patience)
    (scripts / "bin/okd-own-api.sh").write_text(text.replace(f"--max-time {waits}", "--max-time 0.2"))
    run = run_on_a_machine(
        f"{SILENT} if {scripts}/bin/okd-own-api.sh; then echo up; else echo $?; fi; kill $api",
        scripts,
    )
    assert run.stdout == "1\n", run.stderr


@pytest.mark.parametrize(("pods", "status"), [("0123abc", 0), ("", 1)], ids=["ready", "none"])
def test_the_check_of_the_router_wants_a_ready_router_pod(scripts: Path, pods: str, status: int) -> None:
    asked = "pods --namespace openshift-ingress --label " + ROUTER + " --state ready --quiet"
    answer = f'#!/bin/bash\n[[ "$*" == "{asked}" ]] && [[ "{pods}" ]] && echo {pods}\ntrue\n'
    into_host = '#!/bin/bash\n[[ $1 == /host ]] && "${@:2}"\n'  # the machine's root, in keepalived's container
    for name, text in {"crictl": answer, "chroot": into_host}.items():
        (scripts / "bin" / name).write_text(text)
        (scripts / "bin" / name).chmod(0o755)
    run = run_on_a_machine(f"PATH={scripts}/bin:$PATH {scripts}/bin/okd-default-router.sh", scripts)
    assert run.returncode == status, run.stderr


def wait_for(what: str, command: str, wanted: int = 0) -> str:
    """Bash that prints `what` once `command` exits as wanted, or ends the script."""
    return f"""
        for try in $(seq 200); do
            seen=0; {command} 2>/dev/null || seen=$?
            [[ $seen != {wanted} ]] || break
            sleep 0.02
        done
        [[ $seen == {wanted} ]] && echo "{what}"
        """


def test_the_checks_read_the_state_of_apis_from_haproxy(scripts: Path, certificate: str, plan: ClusterPlan) -> None:
    """The rendered haproxy with faster checks, queried by the script that keepalived runs."""
    files = {file.name: file.text for file in render_role(plan, Role.CONTROL_PLANE)}
    # A systemd unit may open more files than a test.
    config = files["haproxy.cfg"].replace("maxconn 4", "maxconn ").replace("lt 12", "lt 0")
    (scripts / "haproxy.cfg").write_text(re.sub(r"inter \ds", "inter 50ms", config))
    (scripts / "bin/okd-check.sh").write_text(files["okd-check.sh"])
    check = f"bash {scripts}/bin/okd-check.sh 9454"
    node = plan.control_plane[1].address
    run = run_on_a_machine(
        wait_for("not there", f"{check} /own_api", 1)
        + f"haproxy -db -f {scripts}/haproxy.cfg >/dev/null 2>&1 & balancer=$!\n"
        + wait_for("runs", "curl -fsm 2 http://localhost:9444/haproxy_ready -o /dev/null")
        + wait_for("no balanced api", f"{check} /haproxy_monitor", 1)
        + wait_for("no own api", f"{check} /own_api", 1)
        + wait_for("no config server", f"{check} /own_config_server", 1)
        + wait_for("nothing else", f"{check} /", 1)
        + api(certificate, 200)
        + wait_for("own api", f"{check} /own_api")
        + wait_for("still no balanced api", f"{check} /haproxy_monitor", 1)
        + f"ip address add {node}/32 dev lo\n"
        + wait_for("balanced api", f"{check} /haproxy_monitor")
        + wait_for("still no config server", f"{check} /own_config_server", 1)
        + wait_for("api through it", "curl -fskm 2 https://localhost:9445/readyz -o /dev/null")
        + STOP_API
        + wait_for("no balanced api again", f"{check} /haproxy_monitor", 1)
        + "kill $balancer; wait $balancer || true",
        scripts,
    )
    assert run.returncode == 0, (run.stdout, run.stderr)
    assert run.stdout.splitlines() == [
        "not there", "runs", "no balanced api", "no own api", "no config server", "nothing else", "own api",
        "still no balanced api", "balanced api", "still no config server", "api through it", "no balanced api again",
    ]  # fmt: skip


CHECKED = "default-server check check-ssl "
"""What starts the line by which the members of the control plane are checked."""


def balancer(scripts: Path, plan: ClusterPlan, *, checked: bool = True) -> str:
    """Return Bash that starts the rendered haproxy, for fewer and less patient clients, and waits until it runs."""
    (config,) = (file.text for file in render_role(plan, Role.CONTROL_PLANE) if file.name == "haproxy.cfg")
    assert config.count(CHECKED) == 1
    config = config.replace("maxconn 4", "maxconn ").replace("inspect-delay 5s", "inspect-delay 100ms")
    (scripts / "haproxy.cfg").write_text(config if checked else config.replace(CHECKED, "default-server "))
    alive = "curl -fsm 2 http://localhost:9444/haproxy_ready -o /dev/null"
    return f"haproxy -db -f {scripts}/haproxy.cfg >/dev/null 2>&1 & balancer=$!\n{wait_for('runs', alive)}"


STOP_BALANCER = "kill $balancer; wait $balancer || true\n"


def test_a_node_claims_nothing_before_haproxys_first_checks_have_ended(scripts: Path, plan: ClusterPlan) -> None:
    """haproxy takes an API server that never answers for up until then."""
    check = f"{scripts}/bin/okd-check.sh 9454"
    pages = ("/haproxy_monitor", "/own_api", "/own_config_server")
    run = run_on_a_machine(
        SILENT
        + balancer(scripts, plan)
        + "".join(f"{check} {page} && echo {page} is up\n" for page in pages)
        + STOP_BALANCER
        + "kill $api",
        scripts,
    )
    assert (run.returncode, run.stdout) == (0, "runs\n"), run.stderr
    config = (scripts / "haproxy.cfg").read_text()
    ((grace,), (check_s,)) = (
        re.findall(r"proc.started\) lt (\d+)", config),
        re.findall(r"timeout check (\d+)s", config),
    )
    assert int(grace) >= 2 + int(check_s), "a check starts within 2 s"


def test_a_request_goes_to_the_next_member_if_one_is_dead(scripts: Path, certificate: str, plan: ClusterPlan) -> None:
    node = plan.control_plane[1].address
    ask = "curl -fskm 15 https://localhost:9445/readyz -o /dev/null && echo answered\n"
    run = run_on_a_machine(
        api(certificate, 200)
        + f"ip address add {node}/32 dev lo\n"
        + balancer(scripts, plan, checked=False)
        + ask * 3
        + STOP_BALANCER
        + STOP_API,
        scripts,
    )
    assert run.stdout.split() == ["runs", "answered", "answered", "answered"], run.stderr


LISTENING = f"""
    coproc {{ exec {sys.executable} -c 'import socket
with socket.create_server(("", 6443)) as server:
    print("listens", flush=True)
    while True:
        connection, _ = server.accept()
        print("was told something" if connection.recv(1) else "was told nothing", flush=True)
        connection.close()'; }}
    read -r <&"${{COPROC[0]}}"; api=$COPROC_PID
    """
SAYS_NOTHING = """
import socket
with socket.create_connection(("127.0.0.1", 9445), timeout=10) as client:
    try: client.recv(1)
    except ConnectionResetError: pass
print("hung up")
"""


def test_a_silent_client_is_disconnected_before_any_api_server(scripts: Path, plan: ClusterPlan) -> None:
    """haproxy would keep a connection for each, and have none left for others."""
    run = run_on_a_machine(
        LISTENING
        + "".join(f"ip address add {each.address}/32 dev lo\n" for each in plan.control_plane)
        + balancer(scripts, plan, checked=False)
        + f"{sys.executable} -c '{SAYS_NOTHING}'\n"
        + "curl -skm 5 https://localhost:9445/readyz || true\n"
        + 'read -ru "${COPROC[0]}"; echo "the API $REPLY first"\n'
        + STOP_BALANCER
        + "kill $api",
        scripts,
    )
    assert run.stdout.splitlines() == ["runs", "hung up", "the API was told something first"], run.stderr


@dataclass(frozen=True)
class Guest:
    """The bootstrap VM with its channel."""

    port: VirtioPort
    process: int

    def send(self, word: str) -> str:
        return self.port.send(word)

    def run(self, command: str) -> str:
        """Return what a command prints in the guest's network."""
        inside = ["nsenter", f"--net=/proc/{self.process}/ns/net", *command.split()]
        return subprocess.run(inside, check=True, capture_output=True, text=True, env={"PATH": SBIN}).stdout


@contextmanager
def channel(scripts: Path) -> Iterator[Guest]:
    """The guest's script, in a network without a VIP or an API; see `release`."""
    release(scripts).write_text("0\n")
    with virtio_port() as port:
        text = (scripts / "bin/okd-vip-channel.sh").read_text()
        for theirs, ours in {PORT: port.name, "/var/lib/okd-baremetal/release": str(release(scripts))}.items():
            assert theirs in text
            text = text.replace(theirs, ours)
        (scripts / "bin/okd-vip-channel.sh").write_text(text)
        # The script's own child, which waits, ends with it.
        alone = ("unshare", "--net", "--pid", "--fork", "--kill-child")
        command = [*alone, "bash", str(scripts / "bin/okd-vip-channel.sh")]
        with subprocess.Popen(command, env={"PATH": f"{scripts}/bin:{SBIN}"}) as script:
            try:
                network = f"/proc/{script.pid}/ns/net"
                until("a network of its own", lambda: os.readlink(network) != os.readlink("/proc/self/ns/net"))
                yield Guest(port, script.pid)
            finally:
                script.kill()


def release(scripts: Path) -> Path:
    """Return the number that keepalived adds to its priority."""
    return scripts / "release"


@pytest.mark.parametrize("end", ["left", "held"])
def test_until_15_s_after_the_vip_left_open_connections_are_served_from_lo(
    end: str, scripts: Path, plan: ClusterPlan
) -> None:
    """With `arp_ignore` nobody new is told the way there, see docs/adr/0008."""
    os.mkfifo(scripts / "time")
    slept = scripts / "slept"
    (scripts / "bin/sleep").write_text(
        f"#!/bin/sh\necho $1 >{slept}.new; mv {slept}.new {slept}; read -r _ <{scripts}/time\n"
    )
    (scripts / "bin/sleep").chmod(0o755)
    vip = f" {plan.api.address}/32 "

    def until_it_sleeps(wanted_s: int) -> None:
        until(f"it sleeps for {wanted_s} s", lambda: slept.exists() and slept.read_text() == f"{wanted_s}\n")
        assert vip in guest.run("ip -o address show dev lo")

    with channel(scripts) as guest:
        assert guest.send("status") == "held vip=no api=no"
        assert guest.run("cat /proc/sys/net/ipv4/conf/all/arp_ignore") == "1\n"
        guest.run("ip link add nic0 type veth peer name nic1")
        guest.run(f"ip address add {vip} dev nic0")
        assert vip not in guest.run("ip -o address show dev lo")
        assert guest.send("release") == "released vip=yes api=no"
        until_it_sleeps(1)
        if end == "left":
            guest.run(f"ip address delete {vip} dev nic0")
        else:
            assert guest.send("hold") == "held vip=yes api=no"
        (scripts / "time").write_text("is over\n")
        until_it_sleeps(15)
        (scripts / "time").write_text("is over\n")
        until("no VIP on lo", lambda: vip not in guest.run("ip -o address show dev lo"))


def test_the_channel_reports_a_vip_on_a_card_but_not_on_lo(scripts: Path, plan: ClusterPlan) -> None:
    vip = f"{plan.api.address}/32"
    with channel(scripts) as guest:
        assert guest.send("status") == "held vip=no api=no"
        guest.run(f"ip address add {vip} dev lo")
        assert guest.send("status") == "held vip=no api=no"
        guest.run("ip link add nic0 type veth peer name nic1")
        guest.run(f"ip address add {vip} dev nic0")
        assert guest.send("status") == "held vip=yes api=no"


def test_the_channel_changes_the_priority_and_reports_the_state(scripts: Path) -> None:
    with channel(scripts) as guest:
        assert guest.send("status") == "held vip=no api=no"
        assert guest.send("release") == "released vip=no api=no"
        assert release(scripts).read_text() == f"{LET_GO}\n"
        assert guest.send("status") == "released vip=no api=no"
        assert guest.send("relaese") == "unknown word"
        assert release(scripts).read_text() == f"{LET_GO}\n"
        assert guest.send("hold") == "held vip=no api=no"
        assert release(scripts).read_text() == "0\n"


def test_a_bootstrap_that_hears_no_node_keeps_the_vip_until_it_leaves(scripts: Path) -> None:
    """It announces the VIP only as a new MASTER, so on the way back it gives the VIP up before it claims it."""
    intent = clusters.intent("baremetal")
    (script,) = (file for file in render_bootstrap(intent) if file.name == "okd-vip-channel.sh")
    (scripts / "bin" / script.name).write_text(script.text)
    vip = f"{intent.api.address}/32"
    with channel(scripts) as guest:
        guest.run("ip link add nic0 type veth peer name nic1")
        guest.run(f"ip address add {vip} dev nic0")
        assert guest.send("release") == "released vip=yes api=no"
        assert release(scripts).read_text() == f"{LET_GO}\n"
        assert f" {vip} " not in guest.run("ip -o address show dev lo")
        assert guest.send("leave") == "released vip=yes api=no"
        assert release(scripts).read_text() == f"{GIVES_UP}\n"
        assert f" {vip} " in guest.run("ip -o address show dev lo")
        guest.run(f"ip address delete {vip} dev nic0")
        assert guest.send("hold") == "held vip=no api=no"
        assert release(scripts).read_text() == "0\n"
        assert guest.send("hold") == "held vip=no api=no"


def test_the_channel_of_platform_none_knows_no_leave(scripts: Path) -> None:
    with channel(scripts) as guest:
        assert guest.send("leave") == "unknown word"


def test_the_channel_answers_held_before_anything_was_released(scripts: Path) -> None:
    with channel(scripts) as provisioner:
        release(scripts).unlink()
        assert provisioner.send("status") == "held vip=no api=no"
        assert provisioner.send("release") == "released vip=no api=no"
