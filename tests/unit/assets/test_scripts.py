"""The checks and the channel, run on a test machine with its own network, /etc and /run."""

import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from assets.render import render_role
from cluster.plan import ClusterPlan, Role
from cluster.values.vrrp import API
from testing.fakes.virtio_port import PORT, VirtioPort, virtio_port
from testing.namespaces import SBIN, needs_root, run_on_a_machine

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


def test_the_check_of_the_own_api_counts_only_after_the_api_was_ready_once(scripts: Path, certificate: str) -> None:
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
        "before up", "starting up", "ready up", "gone down", "broken down", "again up"
    ]  # fmt: skip


SILENT = f"""
    coproc {{ exec {sys.executable} -c 'import socket, time
with socket.create_server(("", 6443)): print("listens", flush=True); time.sleep(60)'; }}
    read -r <&"${{COPROC[0]}}"; api=$COPROC_PID
    """


def test_the_check_of_a_silent_own_api_fails_before_keepalived_ends_it(scripts: Path) -> None:
    run = run_on_a_machine(
        f"touch /run/okd-baremetal/own-api-was-ready; {SILENT} "
        f"if timeout 5 {scripts}/bin/okd-own-api.sh; then echo up; else echo $?; fi; kill $api",
        scripts,
    )
    assert run.stdout == "1\n", run.stderr


@pytest.mark.parametrize(("pods", "status"), [("0123abc", 0), ("", 1)], ids=["ready", "none"])
def test_the_check_of_the_router_wants_a_ready_router_pod(scripts: Path, pods: str, status: int) -> None:
    asked = "pods --namespace openshift-ingress --label " + ROUTER + " --state ready --quiet"
    answer = f'#!/bin/bash\n[[ "$*" == "{asked}" ]] && [[ "{pods}" ]] && echo {pods}\ntrue\n'
    (scripts / "bin/crictl").write_text(answer)
    (scripts / "bin/crictl").chmod(0o755)
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


@pytest.mark.skipif(shutil.which("haproxy", path=SBIN) is None, reason="haproxy is not installed")
def test_the_checks_read_from_haproxy_whether_any_api_and_the_own_one_are_up(
    scripts: Path, certificate: str, plan: ClusterPlan
) -> None:
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


@contextmanager
def channel(scripts: Path) -> Iterator[VirtioPort]:
    """The guest's script, in a network without a VIP or an API; see `release`."""
    release(scripts).write_text("0\n")
    with virtio_port() as port:
        text = (scripts / "bin/okd-vip-channel.sh").read_text()
        for theirs, ours in {PORT: port.name, "/var/lib/okd-baremetal/release": str(release(scripts))}.items():
            assert theirs in text
            text = text.replace(theirs, ours)
        (scripts / "bin/okd-vip-channel.sh").write_text(text)
        with subprocess.Popen(["unshare", "--net", "bash", str(scripts / "bin/okd-vip-channel.sh")]) as script:
            try:
                yield port
            finally:
                script.kill()


def release(scripts: Path) -> Path:
    """Return the number that keepalived adds to its priority."""
    return scripts / "release"


def test_the_channel_lowers_and_restores_the_priority_and_reports_the_state(scripts: Path) -> None:
    with channel(scripts) as provisioner:
        assert provisioner.send("status") == "held vip=no api=no"
        assert provisioner.send("release") == "released vip=no api=no"
        assert release(scripts).read_text() == f"{LET_GO}\n"
        assert provisioner.send("status") == "released vip=no api=no"
        assert provisioner.send("relaese") == "unknown word"
        assert release(scripts).read_text() == f"{LET_GO}\n"
        assert provisioner.send("hold") == "held vip=no api=no"
        assert release(scripts).read_text() == "0\n"
