"""`plan --online` against a real registry, which lacks one thing after the other, as a half copied mirror does."""

import hashlib
import json
import socket
import socketserver
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from datetime import UTC, datetime, timedelta
from pathlib import Path
from subprocess import CompletedProcess
from typing import Any

import pytest
import yaml

from testing import payloads, plans
from testing.certificates import authority
from testing.command_line import run
from testing.fakes.https_server import https_server
from testing.fakes.serving import serving
from testing.registry import CA, LOGIN, PASSWORD, Registry, registry
from wires.registry.images import REFERENCES

QUAY = "quay.io/openshift-release-dev"
SOURCES = (f"{QUAY}/ocp-release", f"{QUAY}/ocp-v4.0-art-dev")
PATHS = ("okd/release", "okd/content")
RELEASES, CONTENT = PATHS
NAMES = ("cli", "etcd", "pod")
FILE = "stacks/prod/install-config.yaml"
FIRST = f"{FILE}: imageDigestSources[0].mirrors[0]"
SECOND = f"{FILE}: imageDigestSources[1].mirrors[0]"


class Site:
    """A stack whose images are at one mirror: a release of three images, each signed."""

    def __init__(self, folder: Path, mirror: Registry, version: str = "4.22.6") -> None:
        self.folder, self.mirror, self.name = folder, mirror, mirror.name
        self.images = {name: mirror.push(CONTENT, {name: name.encode()}) for name in NAMES}
        tags = [
            {"name": name, "from": {"kind": "DockerImage", "name": f"{SOURCES[1]}@{digest}"}}
            for name, digest in self.images.items()
        ]
        stream = {"kind": "ImageStream", "metadata": {"name": version}, "spec": {"tags": tags}}
        self.release = mirror.push(RELEASES, {REFERENCES: json.dumps(stream).encode()})
        for path, digest in ((RELEASES, self.release), *((CONTENT, digest) for digest in self.images.values())):
            mirror.push(path, {"signature": digest.encode()}, f"{digest.replace(':', '-')}.sig")
        self.bundle, self.login, self.more = authority(CA).pem, LOGIN, dict[str, Any]()
        self.services = dict[str, str]()
        """The option `images`; empty: those of the release."""

    def plan(self, **environment: str) -> CompletedProcess[str]:
        """Write the stack, with a payload of it, and ask."""
        self._write()
        words = ("plan", FILE, "--stack", "prod", "--online")
        done = run(*words, folder=self.folder, **environment)
        assert PASSWORD not in done.stdout + done.stderr
        assert LOGIN not in done.stdout + done.stderr
        return done

    def lacks(self) -> list[str]:
        """Return what is printed, without the fixes; nothing is planned then."""
        done = self.plan()
        assert (done.returncode, done.stdout) == (2, ""), done.stderr
        lines = done.stderr.splitlines()
        assert all(". Fix: " in line or " has all " in line for line in lines), lines
        return [line.partition(". Fix: ")[0] for line in lines]

    def _write(self) -> None:
        stack = self.folder / "stacks" / "prod"
        (stack / "payload").mkdir(parents=True, exist_ok=True)
        mirrors = [
            {"source": source, "mirrors": [f"{self.name}/{path}"]}
            for source, path in zip(SOURCES, PATHS, strict=True)
        ]
        secret = json.dumps({"auths": {self.name: {"auth": self.login}, "quay.io": {"auth": "YTpi"}}})
        changes = {"imageDigestSources": mirrors, "pullSecret": secret, "additionalTrustBundle": self.bundle}
        config = payloads.config_of(lambda config: config.update({**changes, **self.more}))
        written = {**plans.install_config(), **changes, **self.more}
        (self.folder / FILE).write_text(plans.written(written))
        release = f"{SOURCES[0]}@{self.release}"
        made = datetime.now(UTC) - timedelta(hours=1)
        files = payloads.written(payloads.good(made, config, release=release))
        for name, content in files.items():
            (stack / "payload" / f"{name}.ign").write_bytes(content)
        digests = {name: hashlib.sha256(content).hexdigest() for name, content in files.items()}
        options = plans.options(payload=digests, images=self.services or {"release": release})
        config_of_stack = {f"{plans.PROJECT}:{name}": value for name, value in options.items()}
        (stack.parent / "Pulumi.prod.yaml").write_text(yaml.safe_dump({"config": config_of_stack}))


@pytest.fixture
def mirror(tmp_path: Path) -> Iterator[Registry]:
    folder = tmp_path / "registry"
    folder.mkdir()
    with registry(folder) as running:
        yield running


@pytest.fixture
def site(tmp_path: Path, mirror: Registry) -> Site:
    return Site(tmp_path / "site", mirror)


@pytest.fixture(autouse=True)
def _own_times(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("wires.registry.client.WAIT_S", 0.0)
    for limit in ("wires.registry.client.REQUEST_S", "cli.inspect.online.CONNECT_S", "cli.inspect.online.DEADLINE_S"):
        monkeypatch.setattr(limit, 100.0)  # other work may slow this one down


def test_a_mirror_that_has_all_is_named_and_the_plan_is_printed(site: Site) -> None:
    done = site.plan()
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["cluster"]["name"] == "okd"
    assert done.stderr.splitlines() == [
        f"{site.name}/okd/release has all 1 images that are wanted, and their 1 signatures",
        f"{site.name}/okd/content has all 3 images that are wanted, and their 3 signatures",
    ]


def test_a_registry_with_tokens_gets_the_login_once_for_each_repository(tmp_path: Path) -> None:
    folder = tmp_path / "registry"
    folder.mkdir()
    with registry(folder, tokens=True) as running:
        site = Site(tmp_path / "site", running)
        running.token_requests.clear()
        assert site.plan().returncode == 0
        assert running.token_requests == [f"repository:{path}:pull" for path in PATHS]
        site.login = "bm9ib2R5Om5vdGhpbmc="
        refuses = "its token server refuses the login of the pull secret (401 Unauthorized)"
        assert site.lacks() == [f"{FIRST}: {site.name}/okd/release: {refuses}"]
        site.mirror.token_requests.clear()


def test_a_lost_image_blob_or_signature_is_named_with_its_place(site: Site) -> None:
    cli, etcd, pod = site.images.values()
    site.mirror.lose_manifest(CONTENT, cli)
    assert site.lacks()[:-1] == [f"{SECOND}: {site.name}/okd/content lacks 1 of 3 images: cli {cli}"]
    blob = site.mirror.blobs_of(CONTENT, etcd)[1]
    site.mirror.lose_blob(CONTENT, blob)
    both = f"cli {cli}, etcd blob {blob}"
    assert site.lacks()[:-1] == [f"{SECOND}: {site.name}/okd/content lacks 2 of 3 images: {both}"]
    tag = f"{pod.replace(':', '-')}.sig"
    site.mirror.lose_tag(CONTENT, tag)
    wait = "for which nodes wait for ever at their first boot"
    unsigned = f"{SECOND}: {site.name}/okd/content lacks 1 of 3 signatures, {wait}: pod {tag}"
    assert site.lacks()[1:-1] == [unsigned]


def test_a_release_that_is_nowhere_is_one_line(site: Site) -> None:
    site.mirror.lose_manifest(RELEASES, site.release)
    lacks = f"{site.name}/okd/release lacks 1 of 1 images: release {site.release}"
    assert site.lacks() == [f"{FIRST}: {lacks}"]


def test_signatures_are_asked_for_only_where_nodes_want_them(tmp_path: Path, mirror: Registry) -> None:
    site = Site(tmp_path / "site", mirror, version="4.21.3")
    for digest in site.images.values():
        mirror.lose_tag(CONTENT, f"{digest.replace(':', '-')}.sig")
    assert site.plan().stderr.splitlines() == [
        f"{site.name}/okd/release has all 1 images that are wanted, and their 1 signatures",
        f"{site.name}/okd/content has all 3 images that are wanted",
    ]


def test_of_an_image_of_several_architectures_that_of_the_cluster_counts(tmp_path: Path, mirror: Registry) -> None:
    site = Site(tmp_path / "site", mirror)
    for architecture, lack in (("amd64", ""), ("arm64", " for amd64")):
        listed = mirror.index(RELEASES, {architecture: site.release})
        mirror.push(RELEASES, {"signature": b""}, f"{listed.replace(':', '-')}.sig")
        site.release, single = listed, site.release
        if lack:
            assert site.lacks() == [f"{FIRST}: {site.name}/okd/release lacks 1 of 1 images: release {listed}{lack}"]
        else:
            assert site.plan().returncode == 0
        site.release = single


@pytest.mark.parametrize(
    ("login", "says"),
    [
        pytest.param("bm9ib2R5Om5vdGhpbmc=", "refuses the login of the pull secret (401 Unauthorized)", id="wrong"),
        pytest.param("", "wants a login, and the pull secret has none for it", id="none"),
    ],
)
def test_a_login_that_the_mirror_refuses_is_sent_once(site: Site, login: str, says: str) -> None:
    site.login = login
    lines = site.lacks()
    assert [line for line in lines if line.endswith(says)] == lines
    assert len(lines) == 1


def test_only_mozilla_and_the_trust_bundle_count_not_this_machine(site: Site, tmp_path: Path) -> None:
    """Who copied the images from here has the mirror's CA among those of this machine."""
    site.bundle = authority("another-ca").pem
    (tmp_path / "system.pem").write_text(authority(CA).pem)
    done = site.plan(SSL_CERT_FILE=str(tmp_path / "system.pem"))
    untrusted = "the cluster does not trust the certificate that it shows: unable to get local issuer certificate"
    (line,) = done.stderr.splitlines()
    assert line.startswith(f"{FIRST}: {site.name}: {untrusted}. Fix: write the CA")


def test_a_certificate_of_another_name_is_refused(site: Site, mirror: Registry) -> None:
    site.name = f"localhost:{mirror.port}"
    (line,) = site.lacks()
    seen = "Hostname mismatch, certificate is not valid for 'localhost'."
    assert line == f"{FIRST}: {site.name}: the cluster does not trust the certificate that it shows: {seen}"


@pytest.mark.parametrize(
    ("answer", "says"),
    [
        (
            b"HTTP/1.1 429 Too Many Requests\r\nRetry-After: 0\r\nContent-Length: 0\r\n\r\n",
            "answers 429 Too Many Requests",
        ),
        (b"", "cannot be asked: no complete answer in time"),
        (b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nhalf", "cannot be asked: the answer is not HTTP"),
        (b"SSH-2.0-OpenSSH_9.2\r\n", "cannot be asked: the answer is not HTTP"),
    ],
    ids=["429", "silent", "half", "no-http"],
)
def test_a_registry_that_answers_badly_is_one_line(
    site: Site, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, answer: bytes, says: str
) -> None:
    if not answer:
        monkeypatch.setattr("wires.registry.client.REQUEST_S", 0.1)
    with https_server(str(tmp_path / "registry" / "tls.pem"), answer) as bad:
        site.name = f"127.0.0.1:{bad.port}"
        (line,) = site.lacks()
        assert line.startswith(f"{FIRST}: {site.name}: {says}")


def test_a_mirror_that_nobody_serves_is_one_line(site: Site) -> None:
    site.name = "127.0.0.1:1"
    assert site.lacks() == [f"{FIRST}: 127.0.0.1:1: cannot be asked: Connection refused"]


def test_a_source_without_a_mirror_is_asked_itself_and_named(site: Site) -> None:
    """This machine has no way to quay.io, as a disconnected site."""
    site.more = {"imageDigestSources": [{"source": SOURCES[0], "mirrors": [f"{site.name}/{RELEASES}"]}]}
    first, second = site.lacks()
    assert second.startswith(f"{site.name}/okd/release has all 1 images")
    assert first.startswith(f"{FILE}: imageDigestSources: quay.io: cannot be asked: ")
    assert first.endswith(f"; and no mirror is named for {SOURCES[1]}")


def test_without_a_stack_nothing_is_asked(site: Site) -> None:
    site.plan()
    done = run("plan", FILE, "--online", folder=site.folder)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == "--online: needs a stack, whose payload names the release. Fix: add --stack STACK\n"


@contextmanager
def proxy_to(port: int) -> Iterator[tuple[str, list[bytes]]]:
    """Run a proxy that leads each CONNECT to a port of loopback; yield its URL, and the first lines it got."""
    asked = list[bytes]()

    class Handler(socketserver.StreamRequestHandler):
        def handle(self) -> None:
            asked.append(self.rfile.readline().strip())
            while self.rfile.readline().strip():
                pass
            with socket.create_connection(("127.0.0.1", port)) as server:
                self.wfile.write(b"HTTP/1.1 200 Connection established\r\n\r\n")
                back = threading.Thread(target=_copy, args=(server, self.connection))
                back.start()
                _copy(self.connection, server)
                back.join()

    server = socketserver.ThreadingTCPServer(("127.0.0.1", 0), Handler)
    with serving(server):
        yield f"http://127.0.0.1:{server.server_address[1]}", asked


def _copy(source: socket.socket, target: socket.socket) -> None:
    with suppress(OSError):
        while piece := source.recv(1 << 16):
            target.sendall(piece)
        target.shutdown(socket.SHUT_WR)


def test_the_proxy_of_the_file_leads_to_a_mirror_outside_of_no_proxy(site: Site, mirror: Registry) -> None:
    site.name = f"mirror.lab.test:{mirror.port}"  # no resolver here has it, so only the proxy leads there
    with proxy_to(mirror.port) as (url, asked):
        site.more = {"proxy": {"httpsProxy": url, "noProxy": "site.test"}}
        done = site.plan(https_proxy="http://127.0.0.1:1", no_proxy="*")
        assert (done.returncode, done.stderr.count(" has all ")) == (0, 2), done.stderr
        assert {line.split()[1] for line in asked} == {site.name.encode()}
        site.more = {"proxy": {"httpsProxy": url, "noProxy": "lab.test"}}
        (line,) = site.lacks()
        assert line.startswith(f"{FIRST}: {site.name}: cannot be asked: ")


def test_a_registry_that_refuses_is_asked_once(site: Site, tmp_path: Path) -> None:
    nothing = b"HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n"
    with https_server(str(tmp_path / "registry" / "tls.pem"), nothing) as bad:
        name = f"127.0.0.1:{bad.port}"
        site.more = {"imageDigestSources": [{"source": SOURCES[0], "mirrors": [f"{name}/a", f"{name}/b"]}]}
        what = f"{name}: answers 404 Not Found at /v2/, so it is no registry of images"
        mirrors = f"{FILE}: imageDigestSources[0].mirrors"
        assert site.lacks() == [f"{mirrors}[0]: {what}", f"{mirrors}[1]: {what}"]
        assert len(bad.requests) == 1


def test_images_of_the_options_are_asked_for_beside_the_release(site: Site) -> None:
    lost = f"sha256:{'a' * 64}"
    own = {"keepalived": site.images["cli"], "haproxy": site.images["cli"], "coredns": lost}
    site.services = {name: f"{SOURCES[1]}@{digest}" for name, digest in own.items()}
    lacks = f"{site.name}/okd/content lacks 1 of 6 images: images.coredns {lost}"
    assert lacks in site.lacks()[0]
