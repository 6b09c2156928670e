"""A registry whose tokens, manifests and layers have wrong shapes, through all that reads a release of it."""

import base64
import gzip
import hashlib
import json
import ssl
import tarfile
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from io import BytesIO
from ipaddress import IPv4Address
from random import Random
from tempfile import NamedTemporaryFile
from typing import Any

from base.errors import PreflightError
from base.http_client import pool_through
from testing.certificates import authority
from testing.fakes.clock import FakeClock
from testing.fakes.serving import serving
from testing.fuzz.engine import CANARY, Surface
from testing.fuzz.mutations import mutated_bytes, mutated_document
from wires.registry import client
from wires.registry.client import Repository
from wires.registry.images import REFERENCES, manifests_of, release_images, signature_of
from wires.registry.logins import login_for

CA, ADDRESS, URL = "registry-ca", "127.0.0.1", "https://registry.test"
PATH, ARCHITECTURE = "okd/release", "amd64"
LOGIN, TOKEN = f"a{CANARY}", f"t{CANARY}"
PARTS = ("answers", "archive", "challenge", "index", "layer", "manifest", "member", "references", "secret", "token")
"""What is broken in a case, one of them; the digests of what has it fit."""
STATUSES = (200, 201, 204, 302, 307, 400, 401, 403, 404, 429, 503)
HEADERS: tuple[dict[str, str], ...] = (
    *({}, {"Location": "http://127.0.0.1:1/"}, {"Location": "http://["}, {"Retry-After": "9" * 5000}),
    *({"Content-Encoding": "gzip"}, {"Transfer-Encoding": "chunked"}, {"Content-Length": "-1"}),
)
REALMS = (
    *("http://x.test/t", "https://", "https://[", "https://[::1", "https://x:y/", "//", "https://a\u00fc.test/"),
)
KINDS = (tarfile.SYMTYPE, tarfile.LNKTYPE, tarfile.DIRTYPE, tarfile.CHRTYPE, tarfile.GNUTYPE_SPARSE, tarfile.XHDTYPE)
HUGE = 1 << 60
WHOLE_S = 3.0
"""In place of the client's limit."""


class _Case:
    """The answers of a registry by path, of which one part is broken."""

    def __init__(self, random: Random) -> None:
        self._random, self._broken = random, random.choice(PARTS)
        self.answers = dict[str, tuple[int, dict[str, str], str]]()

    def bytes_of(self, part: str, content: bytes) -> bytes:
        return mutated_bytes(self._random, content) if self._broken == part else content

    def document(self, part: str, document: Any) -> bytes:
        if self._broken == part:
            document = mutated_document(self._random, document)
        text = json.dumps(document).encode()
        return self.bytes_of(part, text) if self._random.random() < 0.1 else text

    def layer(self, references: bytes) -> bytes:
        packed = BytesIO()
        with tarfile.open(fileobj=packed, mode="w") as archive:
            for name in ("release-manifests", REFERENCES):
                archive.addfile(*self._member(name, references if name == REFERENCES else b""))
        return self.bytes_of("layer", gzip.compress(self.bytes_of("archive", packed.getvalue()), mtime=0))

    def _member(self, name: str, content: bytes) -> tuple[tarfile.TarInfo, BytesIO | None]:
        member, random = tarfile.TarInfo(name), self._random
        member.size = len(content)
        if self._broken != "member":
            return member, BytesIO(content)
        if random.random() < 0.5:
            member.type, member.linkname = random.choice(KINDS), random.choice((name.rpartition("/")[2], "x", ""))
        if random.random() < 0.5:
            sizes = {"GNU.sparse.size": str(random.choice((HUGE, -1, "x")))}
            member.pax_headers = {"GNU.sparse.map": random.choice(("0,0", f"0,9,{HUGE},9", "x")), **sizes}
        return member, BytesIO(content) if member.isreg() else None

    def challenge(self) -> str:
        scheme, realm = "Bearer", f"{URL}/token"
        if self._broken == "challenge":
            scheme, realm = self._random.choice(("Basic", "Bearer", "x")), self._random.choice(REALMS)
        return f'{scheme} realm="{realm}",service="registry.test"'

    def give(self, path: str, content: bytes, status: int = 200, **headers: str) -> None:
        if self._broken == "answers" and self._random.random() < 0.3:
            status, headers = self._random.choice(STATUSES), self._random.choice(HEADERS)
            content = self.bytes_of("answers", content)
        self.answers[path] = status, headers, base64.b64encode(content).decode()

    def put(self, kind: str, content: bytes) -> dict[str, Any]:
        """Give a blob or a manifest by its digest, and return its descriptor."""
        digest = f"sha256:{hashlib.sha256(content).hexdigest()}"
        self.give(f"/v2/{PATH}/{kind}/{digest}", content)
        return {"digest": digest, "size": len(content)}


def _make(random: Random) -> bytes:
    case = _Case(random)
    tags = [
        {"name": name, "from": {"kind": "DockerImage", "name": f"quay.io/okd/content@sha256:{number * 64}"}}
        for name, number in (("cli", "1"), ("etcd", "2"))
    ]
    stream = {"kind": "ImageStream", "metadata": {"name": "4.22.6"}, "spec": {"tags": tags}}
    parts = [case.put("blobs", content) for content in (b"{}", case.layer(case.document("references", stream)))]
    manifest = {"schemaVersion": 2, "config": parts[0], "layers": parts[1:]}
    platform = {"platform": {"architecture": ARCHITECTURE}}
    index = {"manifests": [{**case.put("manifests", case.document("manifest", manifest)), **platform}]}
    version = case.put("manifests", case.document("index", index))["digest"]
    case.give("/v2/", b"", 401, **{"WWW-Authenticate": case.challenge()})
    case.give("/token", case.document("token", {"token": TOKEN}))
    secret = case.document("secret", {"auths": {ADDRESS: {"auth": LOGIN}}})
    return json.dumps([version, secret.decode(errors="replace"), case.answers]).encode()


@cache
def _certificate() -> str:
    pair = authority(CA).issue([], [IPv4Address(ADDRESS)])
    return pair.certificate + pair.key


class _Server(ThreadingHTTPServer):
    def handle_error(self, *_: object) -> None:
        """Print nothing: the client may want no more of an answer."""


@contextmanager
def _serving(answers: dict[str, tuple[int, dict[str, str], str]]) -> Iterator[str]:
    """Serve answers on loopback, over TLS; yield the host and port."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            status, headers, content = answers.get(self.path.partition("?")[0], (404, {}, ""))
            body = base64.b64decode(content)
            self.send_response(status)
            for name, value in {"Content-Length": str(len(body)), **headers}.items():
                self.send_header(name, value.replace(URL, f"https://{ADDRESS}:{server.server_port}"))
            self.end_headers()
            self.wfile.write(body if self.command == "GET" else b"")

        do_HEAD = do_GET  # noqa: N815  (the name that the library calls)

        def log_message(self, *_: object) -> None:
            """Print nothing."""

    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    with NamedTemporaryFile("w") as file:
        file.write(_certificate())
        file.flush()
        context.load_cert_chain(file.name)
    server = _Server((ADDRESS, 0), Handler)
    server.socket = context.wrap_socket(server.socket, server_side=True)
    with serving(server):
        yield f"{ADDRESS}:{server.server_port}"


def _run(case: bytes) -> str:
    client.REQUEST_S = WHOLE_S
    version, secret, answers = json.loads(case)
    context = ssl.create_default_context(cadata=authority(CA).pem)
    with (
        _serving(answers) as registry,
        pool_through("", WHOLE_S, context) as pool,
        pool_through("http://127.0.0.1:1", WHOLE_S, context) as elsewhere,
    ):
        clock = FakeClock()
        login = login_for(secret, f"{ADDRESS}/{PATH}")
        pools = {ADDRESS: pool}
        repository = Repository(
            registry, PATH, login, lambda host: pools.get(host, elsewhere), clock, clock.now() + 60
        )
        return _said(repository, version)


def _said(repository: Repository, version: str) -> str:
    """Return all that is read of a release and of its images."""
    try:
        repository.open()
        found = release_images(repository, version, (ARCHITECTURE,))
        said = [str(found)]
        for name, image in (("release", None), *found.by_name.items()):
            asked = image.version if image else version
            signed = repository.has(f"manifests/{signature_of(image)}") if image else False
            said += [name, str(signed), *map(str, manifests_of(repository, asked, (ARCHITECTURE,)))]
    except LookupError as error:
        return f"lacks {error.args[0]}"
    except PreflightError as error:
        return str(error)
    return "\n".join(said)


SURFACE = Surface(_make, _run)
