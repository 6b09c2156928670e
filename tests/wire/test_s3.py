"""Objects in a bucket of a real server of S3; `tests/wire/test_etcd_snapshot.py` has etcd in one, and restores it."""

import os
import re
import ssl
import subprocess
from collections.abc import Callable, Iterator
from contextlib import closing
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import ClassVar

import pytest

from base.errors import ConfigError
from cluster.values.snapshots import BucketUrl
from lab.binaries import ensure_binary
from testing.certificates import authority
from testing.fakes.https_server import https_server
from testing.fakes.serving import serving
from testing.namespaces import needs_root
from testing.s3 import ADDRESS, BUCKET, NO_OTHERS, SECRET, USER, S3Server, s3_server
from wires.s3 import bucket
from wires.s3.bucket import FIXES, LOG, REACH, RIGHTS, Bucket

pytestmark = needs_root  # as root, each worker has a loopback of its own
NAME, OBJECT = "snapshot_2026-11-27_030005.db", "okd/snapshot_2026-11-27_030005.db"
SMALLEST = 5 << 20
PIECE = 3 << 20
"""Parts do not end where the pieces do that etcd sends."""
LOGIN = ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY")
TRUST, ROOM = FIXES["SSLError"], FIXES["InsufficientStorage"]


@pytest.fixture
def server(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[S3Server]:
    monkeypatch.setattr(bucket, "PART_BYTES", SMALLEST)
    with s3_server(ensure_binary("versitygw"), tmp_path) as running:
        log_in(monkeypatch, running.environment())
        yield running


def log_in(monkeypatch: pytest.MonkeyPatch, environment: dict[str, str]) -> None:
    for name in [name for name in os.environ if name.startswith("AWS_")]:
        monkeypatch.delenv(name)
    for name, value in environment.items():
        monkeypatch.setenv(name, value)


def keeper(url: str) -> Bucket:
    place = BucketUrl.of(url)
    assert place
    return Bucket(place)


def saved(url: str, content: bytes, then: Callable[[], None] = lambda: None) -> None:
    """Write an object, and do something before it has ended."""
    with keeper(url).new(NAME) as put:
        put(content)
        then()


def broken_off() -> None:
    raise ConnectionError("of etcd")


def refused(url: str, content: bytes = b"1", then: Callable[[], None] = lambda: None) -> tuple[str, str]:
    """Return why an object cannot be written, and the fix."""
    with pytest.raises(ConfigError) as error:
        saved(url, content, then)
    fault = error.value.fault
    assert SECRET not in str(fault)
    before = f"not saved: {keeper(url).url / NAME} cannot be written ("
    assert fault.what.startswith(before)
    return fault.what.removeprefix(before).removesuffix(")"), fault.fix


@pytest.mark.parametrize("size", [1, SMALLEST, 2 * SMALLEST + 1])
def test_an_object_is_there_once_it_has_ended_well(server: S3Server, size: int) -> None:
    content = os.urandom(size)
    with keeper(server.url).new(NAME) as put:
        for start in range(0, size, PIECE):
            put(content[start : start + PIECE])
        assert listed(server) == []
    assert server.objects() == {OBJECT: content}


def listed(server: S3Server) -> list[str]:
    with closing(server.client()) as client:
        return [each["Key"] for each in client.list_objects_v2(Bucket=BUCKET).get("Contents", [])]


def test_what_breaks_off_is_no_object_and_no_open_upload(server: S3Server) -> None:
    with pytest.raises(ConnectionError, match="of etcd"):
        saved(server.url, bytes(SMALLEST + 1), then=broken_off)
    assert server.objects() == {}


@pytest.mark.parametrize(
    ("environment", "why", "fix"),
    [
        pytest.param({"AWS_SECRET_ACCESS_KEY": "x"}, "HTTP 403 SignatureDoesNotMatch", RIGHTS, id="secret"),
        pytest.param({"AWS_ACCESS_KEY_ID": "x"}, "HTTP 403 InvalidAccessKeyId", RIGHTS, id="key"),
        pytest.param({"AWS_ACCESS_KEY_ID": USER}, "HTTP 403 AccessDenied", RIGHTS, id="no-rights"),
        pytest.param({"AWS_SECRET_ACCESS_KEY": ""}, "PartialCredentialsError", RIGHTS, id="half-a-login"),
        pytest.param(dict.fromkeys(LOGIN, ""), "NoCredentialsError", RIGHTS, id="no-login"),
        pytest.param({"AWS_PROFILE": "x"}, "ProfileNotFound", RIGHTS, id="profile"),
        pytest.param(
            {"AWS_CA_BUNDLE": "/nonexistent"}, "SSLError: [Errno 2] No such file or directory", TRUST, id="no-ca"
        ),
    ],
)
def test_whom_the_server_does_not_let_in_is_told(
    server: S3Server, monkeypatch: pytest.MonkeyPatch, environment: dict[str, str], why: str, fix: str
) -> None:
    given = {**server.environment(), **environment}
    log_in(monkeypatch, {name: value for name, value in given.items() if value})
    assert refused(server.url) == (why, fix)
    log_in(monkeypatch, server.environment())
    assert server.objects() == {}


def test_a_login_goes_to_a_server_that_is_trusted_only(server: S3Server, monkeypatch: pytest.MonkeyPatch) -> None:
    other = server.folder / "other.pem"
    other.write_text(authority("other-ca").pem)
    log_in(monkeypatch, {**server.environment(), "AWS_CA_BUNDLE": str(other)})
    why, fix = refused(server.url)
    assert "certificate verify failed" in why
    assert fix == TRUST


@pytest.mark.parametrize(
    ("url", "object_at"),
    [
        ("s3://saved?region=eu-central-1", "https://saved.s3.eu-central-1.amazonaws.com/okd.db?"),
        ("s3://saved?endpoint=https://s3.lab.test:9000&region=lab", "https://s3.lab.test:9000/saved/okd.db?"),
    ],
    ids=["aws", "own-server"],
)
def test_only_the_stack_names_the_server(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, url: str, object_at: str
) -> None:
    """A snapshot has all secrets of a cluster. A server of one name has no name, nor a certificate, per bucket."""
    (tmp_path / "config").write_text("[default]\ns3 =\n  addressing_style = virtual\n")
    elsewhere = {"AWS_ENDPOINT_URL": "https://elsewhere.test", "AWS_DEFAULT_REGION": "elsewhere"}
    of_a_file = {"AWS_CONFIG_FILE": str(tmp_path / "config")}
    log_in(monkeypatch, {**dict.fromkeys(LOGIN, "x"), **NO_OTHERS, **elsewhere, **of_a_file})
    place = keeper(url).url
    with bucket._client(place) as client:
        signed = client.generate_presigned_url("get_object", {"Bucket": place.bucket, "Key": "okd.db"})
    assert signed.startswith(object_at)
    assert f"%2F{place.region}%2Fs3%2F" in signed


def test_a_bucket_that_is_missing_is_told(server: S3Server) -> None:
    fix = "make that bucket, or name another one in `snapshots`"
    assert refused(server.url.replace(BUCKET, "nowhere")) == ("HTTP 404 NoSuchBucket", fix)


def test_a_server_that_is_lost_meanwhile_is_told(server: S3Server) -> None:
    def lose() -> None:
        server.process.kill()
        server.process.wait()

    assert refused(server.url, bytes(SMALLEST), then=lose) == ("EndpointConnectionError", REACH)


def test_a_server_without_room_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    small = tmp_path / "small"
    small.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={SMALLEST}", "small", small], check=True)
    try:
        (tmp_path / "server").mkdir()
        with s3_server(ensure_binary("versitygw"), tmp_path / "server", small) as server:
            log_in(monkeypatch, server.environment())
            assert refused(server.url, os.urandom(2 * SMALLEST)) == ("HTTP 507 InsufficientStorage", ROOM)
            assert server.objects() == {}
    finally:
        subprocess.run(["umount", small], check=True)


def test_the_rights_of_the_fix_are_enough(server: S3Server, monkeypatch: pytest.MonkeyPatch) -> None:
    server.let(re.findall("`(s3:[A-Za-z]+)`", RIGHTS))
    log_in(monkeypatch, server.environment(USER))
    with pytest.raises(ConnectionError):
        saved(server.url, bytes(SMALLEST + 1), then=broken_off)
    assert server.objects() == {}
    saved(server.url, b"1")
    assert server.objects() == {OBJECT: b"1"}


@pytest.mark.parametrize(("body", "why"), [("ok", "HTTP 500 500"), ("<html/>", "the answer is not one of S3")])
def test_a_server_of_something_else_is_told(server: S3Server, body: str, why: str) -> None:
    pair = server.folder / "pair.pem"
    pair.write_text("".join((server.folder / name).read_text() for name in ("tls.crt", "tls.key")))
    answer = f"HTTP/1.1 200 OK\r\nContent-Length: {len(body)}\r\n\r\n{body}".encode()
    with https_server(str(pair), answer) as other:
        assert refused(server.url.replace(f":{server.port}", f":{other.port}")) == (why, LOG)


def test_an_endpoint_without_an_address_is_told() -> None:
    assert refused("s3://saved?endpoint=https://[::::]") == ("the endpoint has no address", LOG)


class WithoutDigests(BaseHTTPRequestHandler):
    """Takes parts and says nothing of SHA-256, as StorageGRID before 11.9 (its page "Updates to S3 REST API")."""

    protocol_version = "HTTP/1.1"
    done: ClassVar[list[str]] = []

    def do_POST(self) -> None:
        self._answer(b"<R><UploadId>1</UploadId></R>")

    def do_PUT(self) -> None:
        self.rfile.read(int(self.headers["Content-Length"]))
        self._answer(b"")

    def do_DELETE(self) -> None:
        self._answer(b"")

    def _answer(self, body: bytes) -> None:
        self.done.append(self.command)
        self.send_response(200)
        self.send_header("ETag", '"1"')
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        """Print nothing."""


def test_a_part_without_its_digest_is_not_counted(server: S3Server) -> None:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(server.folder / "tls.crt", server.folder / "tls.key")
    other = ThreadingHTTPServer((ADDRESS, 0), WithoutDigests)
    other.socket = context.wrap_socket(other.socket, server_side=True)
    with serving(other):
        said = refused(server.url.replace(f":{server.port}", f":{other.server_port}"))
    assert said == ("the server does not answer with the SHA-256 of what it got", LOG)
    assert WithoutDigests.done == ["POST", "PUT", "DELETE"]
