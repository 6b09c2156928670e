"""The lab's config server answers as the real one does (openshift/machine-config-operator 7ff337a4, pkg/server)."""

import http.client
import json
import socket
import ssl
import subprocess
from contextlib import ExitStack, closing
from pathlib import Path

import pytest

from lab.inventory import load_site
from lab.payload import Payload, make_payload
from testing.ignition_configs import configs, content
from testing.namespaces import MORTAL, SBIN, in_own_network, needs_root
from testing.scene.machine import until

pytestmark = needs_root
Question = tuple[str, str, str | None]
"""Method, path, and what is accepted."""
IGNITION = "application/vnd.coreos.ignition+json;version={}, */*;q=0.1"
ASKED = IGNITION.format("3.5.0")
MASTER, ARBITER, WORKER = (f"/config/{pool}" for pool in ("master", "arbiter", "worker"))
OLD = '{"ignition":{"version":"2.2.0"}}'
ANSWERS: dict[Question, tuple[int, str]] = {
    ("GET", MASTER, ASKED): (200, "role_master"),
    ("GET", MASTER, IGNITION.format("3.99.0")): (200, "role_master"),
    ("GET", MASTER, "application/vnd.coreos.ignition+json; version=3.2.0"): (200, "role_master"),
    ("HEAD", MASTER, ASKED): (200, ""),
    ("GET", MASTER, "*/*"): (200, OLD),
    ("GET", MASTER, None): (200, OLD),
    ("GET", MASTER, "application/vnd.coreos.ignition+json; version=2.4.0"): (200, OLD),
    ("GET", MASTER, IGNITION.format("9.9.9")): (400, ""),
    ("POST", MASTER, ASKED): (405, ""),
    ("GET", "/config/infra", ASKED): (500, ""),
    ("GET", "/healthz", None): (200, ""),
    ("HEAD", "/healthz", None): (200, ""),
    ("GET", "/", ASKED): (404, ""),
    ("GET", "/healthz/ready", None): (404, ""),
}
"""Status and content, or the field of `Payload` that is the content."""


OTHERS: dict[str, dict[str, dict[Question, tuple[int, str]]]] = {
    "rehearsal": {
        "bootstrap": {("GET", WORKER, ASKED): (500, "")},
        "role_master": {("GET", WORKER, ASKED): (200, "role_worker"), ("GET", ARBITER, ASKED): (500, "")},
    },
    "arbiter": {
        "bootstrap": {("GET", WORKER, ASKED): (500, ""), ("GET", ARBITER, ASKED): (200, "role_arbiter")},
        "role_master": {("GET", ARBITER, ASKED): (200, "role_arbiter")},
    },
}
"""By stack and machine: a bootstrap serves no compute (pkg/server/bootstrap_server.go)."""


def lay_out(payload: Payload, machine: str, folder: Path) -> Path:
    """Write the files of a machine's config server, and return its configuration."""
    (folder / "config").mkdir()
    whole = [json.loads(text) for text in configs(getattr(payload, machine))]
    for file in (file for config in whole for file in config.get("storage", {}).get("files", [])):
        path = Path(file["path"])
        if path.is_relative_to("/etc/lab") and path.suffix in {".cfg", ".crt", ".ign", ".pem"}:
            text = content(file["contents"]).decode()
            here = text.replace("/etc/lab", str(folder)).replace("/run/lab", str(folder))
            (folder / path.relative_to("/etc/lab")).write_text(here if path.suffix == ".cfg" else text)
    (folder / "master.ign").write_text(payload.role_master)
    return folder / "config-server.cfg"


def ask(ca: Path, method: str, path: str, accepted: str | None) -> tuple[int, str, str]:
    """Return status and content of an answer, and the content's type."""
    trusting = ssl.create_default_context(cafile=ca)
    with closing(http.client.HTTPSConnection("localhost", 22623, timeout=10, context=trusting)) as client:
        client.request(method, path, headers={"Accept": accepted} if accepted else {})
        answer = client.getresponse()
        content = answer.read().decode()
        return answer.status, content, answer.headers["Content-Type"] if content else ""


def listens() -> bool:
    try:
        socket.create_connection(("localhost", 22623)).close()
    except OSError:
        return False
    return True


@pytest.mark.parametrize(("stack", "machine"), [(stack, machine) for stack in OTHERS for machine in OTHERS[stack]])
def test_the_config_server_answers_as_the_real_one(stack: str, machine: str, tmp_path: Path) -> None:
    payload = make_payload(load_site(stack))
    config = lay_out(payload, machine, tmp_path)

    def work() -> None:
        command = [*MORTAL, "haproxy", "-db", "-f", str(config)]
        with subprocess.Popen(command, stdout=subprocess.DEVNULL, env={"PATH": SBIN}) as haproxy, ExitStack() as end:
            end.callback(haproxy.kill)
            until("the config server listens", listens)
            for question, (status, named) in {**ANSWERS, **OTHERS[stack][machine]}.items():
                wanted = getattr(payload, named, named)
                kind = "application/json" if wanted else ""
                assert ask(tmp_path / "ca.crt", *question) == (status, wanted, kind), question

    in_own_network(work)
