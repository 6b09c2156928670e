"""Files that others write, through the readers of their formats: YAML, PEM, Ignition, ISO, logs and more."""

import io
import json
from collections.abc import Callable
from contextlib import chdir
from functools import cache
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory
from typing import IO

from base.errors import OkdBaremetalError
from base.log_entries import entries_in
from base.memory import in_memory
from base.yaml_edit import added, emptied
from base.yaml_text import line_of, parse_yaml, parse_yaml_as_written, parse_yaml_documents, yaml_of
from boot_media.architecture import architecture_of
from boot_media.disk_image import disk_image_of
from boot_media.netboot import live_files
from cluster.install_config import read
from cluster.values.pull_secret import wrong_in
from payload.kubeconfig import add_authority, read_kubeconfig
from payload.pem import certificates_of, check_pair, names_of
from payload.reading import parse_ignition, stored_file
from payload.release import payload_release
from review.preview import failures, read_preview
from testing import payloads, plans, preview_steps
from testing.certificates import authority
from testing.fuzz.engine import CANARY, Surface
from testing.fuzz.mutations import mutated_bytes, mutated_document, mutated_lines
from testing.kubeconfigs import kubeconfig
from testing.live_iso import kernel, live_iso

Reader = Callable[[bytes], object]


def _text(data: bytes) -> str:
    return data.decode(errors="replace")


def _in_file(read: Callable[[Path], object], name: str) -> Reader:
    """Return a reader of bytes by a reader of a file at a path of the current folder."""

    def reader(data: bytes) -> object:
        with TemporaryDirectory() as folder, chdir(folder):
            path = Path(name)
            path.parent.mkdir(parents=True)
            path.write_bytes(data)
            return read(path)

    return reader


def _of_iso(read: Callable[[IO[bytes]], object]) -> Reader:
    def reader(data: bytes) -> object:
        with in_memory(data) as iso:
            return read(iso)

    return reader


def _edited(data: bytes) -> object:
    text = _text(data)
    line_of(text, "config", "okd-baremetal:media")
    emptied(text, ("pullSecret",), ("platform", "baremetal", "hosts", 0, "bmc", "password"))
    return parse_yaml(added(text, ("config", "okd-baremetal:vrids", "api"), 7, "a comment"))


@cache
def install_config() -> bytes:
    """Return the rehearsal's install-config, with a canary in each secret."""
    config = plans.install_config()
    config["pullSecret"] = json.dumps({"auths": {"registry.test": {"auth": f"{CANARY}aaaa"}}})
    for host in config["platform"]["baremetal"]["hosts"]:
        host["bmc"]["password"] = CANARY
    return yaml_of(config).encode()


@cache
def stack_file() -> bytes:
    """Return the rehearsal's options as a stack's file, with a canary in each secret."""
    login = {"username": "admin", "password": CANARY}
    options = plans.options(bmc_credentials={"okd-master-0": login}, notify_url=f"https://hook.test/{CANARY}")
    return yaml_of({"config": {f"okd-baremetal:{name}": value for name, value in options.items()}}).encode()


@cache
def kubeconfig_file() -> bytes:
    """Return a kubeconfig of the rehearsal's cluster."""
    return yaml_of(kubeconfig(authority("test-ca"))).encode()


@cache
def payload() -> dict[str, bytes]:
    """Return the payload's files, by name."""
    return payloads.payload()


@cache
def preview() -> bytes:
    """Return a preview with a file, a server, a VM and a role of servers."""
    plan = plans.plan()
    host = preview_steps.bmc_host(plan, plans.HOSTS[0])
    steps = (
        preview_steps.file("compute", "/etc/a", "1\n", "2\n"),
        preview_steps.step("update", "okd-host", host, host.changed(deadline_s=77)),
        preview_steps.step("create", "okd-bootstrap", None, preview_steps.bootstrap_vm(plan)),
        preview_steps.step("create", "okd-role", None, preview_steps.installation(plan)),
    )
    diagnostics = ({"severity": "warning", "message": 'resource "a::b::c" is fine'},)
    return preview_steps.preview(*steps, diagnostics=diagnostics, phase="bootstrap").encode()


def log() -> bytes:
    line = {"time": "2026-11-25T10:00:00.000Z", "resource": "BmcHost::a", "event": "end", "seconds": 1.5, "text": "x"}
    return "\n".join([json.dumps(line)] * 3).encode()


def _pair() -> bytes:
    pair = authority("test-ca").issue(["system:admin"])
    return (pair.certificate + pair.key).encode()


def _iso() -> bytes:
    return live_iso(kernel(0x8664), b"initrd", b"rootfs")[: 200 * 2048]


def _previewed(data: bytes) -> object:
    return failures(_text(data)), read_preview(_text(data), "a preview")


def _names(data: bytes) -> object:
    return [names_of(each) for each in certificates_of(data)]


IN_STACK = "stacks/fuzz/payload/auth/kubeconfig"
READERS: dict[str, tuple[Reader, Callable[[], bytes]]] = {
    "yaml": (parse_yaml, stack_file),
    "yaml-as-written": (parse_yaml_as_written, install_config),
    "yaml-documents": (parse_yaml_documents, stack_file),
    "yaml-edit": (_edited, install_config),
    "install-config": (lambda data: read(_text(data)), install_config),
    "pull-secret": (lambda data: [*wrong_in(_text(data))], lambda: b'{"auths": {"registry.test": {"auth": "YTpi"}}}'),
    "kubeconfig": (_in_file(lambda _: read_kubeconfig("fuzz"), IN_STACK), kubeconfig_file),
    "kubeconfig-ca": (_in_file(lambda _: add_authority("fuzz", payloads.root_ca()), IN_STACK), kubeconfig_file),
    "pem": (lambda data: check_pair(data, data), _pair),
    "certificates": (_names, _pair),
    "ignition": (lambda data: parse_ignition(Path("a.ign"), data).paths, lambda: payload()["master"]),
    "bootstrap": (lambda data: stored_file(data, "/opt/openshift/auth/kubeconfig"), lambda: payload()["bootstrap"]),
    "release": (_in_file(payload_release, "a/bootstrap.ign"), lambda: payload()["bootstrap"]),
    "iso": (_of_iso(architecture_of), _iso),
    "live": (_of_iso(lambda iso: live_files(iso, (0, 1), "coreos.liveiso=x")), _iso),
    "disk": (lambda data: disk_image_of(io.BytesIO(data), len(data)), lambda: b"QFI\xfb" + bytes(100)),
    "preview": (_previewed, preview),
    "log": (lambda data: [*entries_in(_text(data).splitlines())], log),
}
BY_CONTRACT = {"pem": ValueError, "certificates": ValueError}
"""What a reader raises for its caller to turn into an error of this program."""
CHANGES = (mutated_bytes, mutated_lines)


def mutated(random: Random, data: bytes) -> bytes:
    """Return a file after changes of its text or of its document."""
    if random.random() < 0.5:
        return random.choice(CHANGES)(random, data) if CANARY.encode() not in data else mutated_lines(random, data)
    try:
        document = parse_yaml(data)
    except (OkdBaremetalError, UnicodeDecodeError):
        return mutated_bytes(random, data)
    return json.dumps(mutated_document(random, document)).encode()


def _make(random: Random) -> bytes:
    name = random.choice(list(READERS))
    return f"{name}\n".encode() + mutated(random, READERS[name][1]())


def _run(case: bytes) -> str:
    name, _, data = case.partition(b"\n")
    try:
        READERS[name.decode()][0](data)
    except BY_CONTRACT.get(name.decode(), OkdBaremetalError) as error:
        return "" if name.decode() in BY_CONTRACT else str(error)
    return ""


SURFACE = Surface(_make, _run)
