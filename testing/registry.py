"""A registry of images with TLS and logins: Debian's docker-registry, and images of a release to push into it.

The registry is the real one (github.com/distribution/distribution 2.8), with its own check of passwords and
tokens. Who gives the tokens is written here, by that project's docs/content/spec/auth: for the login and a scope, a
JWT of five minutes by ES256, with the certificate of its key.
"""

import base64
import gzip
import hashlib
import io
import json
import shutil
import ssl
import subprocess
import tarfile
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from ipaddress import IPv4Address
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import urllib3
import yaml
from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.asymmetric.utils import decode_dss_signature
from cryptography.hazmat.primitives.serialization import Encoding, load_pem_private_key

from testing.certificates import Pair, authority
from testing.fakes.serving import serving

CA = "mirror-ca"
USER, PASSWORD = "mirror", "M1rror-canary"
LOGIN = base64.b64encode(f"{USER}:{PASSWORD}".encode()).decode()
HTPASSWD = f"{USER}:$2b$04$abcdefghijklmnopqrstuutnO5GHv0IEtg0x0gA3h3f/QTrvcSl1q"
ADDRESS = "127.0.0.1"
AUDIENCE, ISSUER = "lab registry", "lab tokens"
INDEX, MANIFEST = "application/vnd.oci.image.index.v1+json", "application/vnd.oci.image.manifest.v1+json"
CONFIG, LAYER = "application/vnd.oci.image.config.v1+json", "application/vnd.oci.image.layer.v1.tar+gzip"


def digest_of(content: bytes) -> str:
    """Return the digest of a blob or manifest."""
    return f"sha256:{hashlib.sha256(content).hexdigest()}"


@dataclass
class Registry:
    """A registry that runs: what it has can be pushed, and be lost from its disk."""

    port: int
    folder: Path
    login: str = LOGIN
    token_requests: list[str] = field(default_factory=list)
    """The scope of each token that was asked for."""

    @property
    def name(self) -> str:
        """Host and port, as an install-config has them."""
        return f"{ADDRESS}:{self.port}"

    def push(self, path: str, files: Mapping[str, bytes], tag: str = "") -> str:
        """Push an image of one layer with these files, and return its digest."""
        packed = io.BytesIO()
        with tarfile.open(fileobj=packed, mode="w") as archive:
            for name, content in files.items():
                member = tarfile.TarInfo(name)
                member.size = len(content)
                archive.addfile(member, io.BytesIO(content))
        layer, config = gzip.compress(packed.getvalue(), mtime=0), json.dumps({"of": path, "tag": tag}).encode()
        parts = [
            {"mediaType": kind, "digest": self._blob(path, blob), "size": len(blob)}
            for kind, blob in ((CONFIG, config), (LAYER, layer))
        ]
        manifest = {"schemaVersion": 2, "mediaType": MANIFEST, "config": parts[0], "layers": parts[1:]}
        return self._manifest(path, manifest, tag)

    def index(self, path: str, digests: Mapping[str, str]) -> str:
        """Push a list of images by their architecture, and return its digest."""
        entries = [
            {"mediaType": MANIFEST, "digest": digest, "size": 1, "platform": {"architecture": each, "os": "linux"}}
            for each, digest in digests.items()
        ]
        return self._manifest(path, {"schemaVersion": 2, "mediaType": INDEX, "manifests": entries}, "")

    def blobs_of(self, path: str, digest: str) -> list[str]:
        """Return the digests of an image's blobs."""
        manifest = json.loads(self._disk(digest).read_bytes())
        return [manifest["config"]["digest"], *(layer["digest"] for layer in manifest["layers"])]

    def lose_blob(self, path: str, digest: str) -> None:
        """Lose a blob of a repository, as by a copy that broke off."""
        hexed = digest.removeprefix("sha256:")
        shutil.rmtree(self._repositories / path / "_layers" / "sha256" / hexed)

    def lose_manifest(self, path: str, digest: str) -> None:
        """Lose a manifest of a repository."""
        hexed = digest.removeprefix("sha256:")
        shutil.rmtree(self._repositories / path / "_manifests" / "revisions" / "sha256" / hexed)

    def lose_tag(self, path: str, tag: str) -> None:
        """Lose a tag of a repository, as by a copy without signatures."""
        shutil.rmtree(self._repositories / path / "_manifests" / "tags" / tag)

    @property
    def _repositories(self) -> Path:
        return self.folder / "docker" / "registry" / "v2" / "repositories"

    def _disk(self, digest: str) -> Path:
        hexed = digest.removeprefix("sha256:")
        return self._repositories.parent / "blobs" / "sha256" / hexed[:2] / hexed / "data"

    def _blob(self, path: str, content: bytes) -> str:
        digest = digest_of(content)
        started = self._asked("POST", f"https://{self.name}/v2/{path}/blobs/uploads/", path)
        where = f"{started.headers['Location']}&digest={digest}"
        kind = {"Content-Type": "application/octet-stream"}
        assert self._asked("PUT", where, path, content, kind).status == 201
        return digest

    def _manifest(self, path: str, manifest: dict[str, Any], tag: str) -> str:
        content = json.dumps(manifest).encode()
        url = f"https://{self.name}/v2/{path}/manifests/{tag or digest_of(content)}"
        answer = self._asked("PUT", url, path, content, {"Content-Type": manifest["mediaType"]})
        assert answer.status == 201, answer.data
        return digest_of(content)

    def _asked(
        self, method: str, url: str, path: str, body: bytes = b"", headers: Mapping[str, str] | None = None
    ) -> urllib3.BaseHTTPResponse:
        context = ssl.create_default_context(cadata=authority(CA).pem)
        with urllib3.PoolManager(ssl_context=context) as pool:
            authorization = f"Basic {self.login}"
            challenge = pool.request("GET", f"https://{self.name}/v2/").headers.get("WWW-Authenticate", "")
            if challenge.startswith("Bearer"):
                realm = challenge.partition('realm="')[2].partition('"')[0]
                fields = {"service": AUDIENCE, "scope": f"repository:{path}:pull,push"}
                given = pool.request("GET", realm, fields=fields, headers={"Authorization": authorization}).json()
                authorization = f"Bearer {given['token']}"
            sent = {**(headers or {}), "Authorization": authorization}
            return pool.request(method, url, body=body, headers=sent)


@contextmanager
def registry(folder: Path, *, tokens: bool = False, signer: str = CA) -> Iterator[Registry]:
    """Run a registry on loopback, with passwords, or with tokens of a server beside it.

    Args:
        folder: An empty one, for its files.
        tokens: Whether it wants tokens.
        signer: The CA of its certificate.
    """
    pair = authority(signer).issue(["mirror.lab.test"], [IPv4Address(ADDRESS)])
    (folder / "tls.pem").write_text(pair.certificate + pair.key)
    (folder / "htpasswd").write_text(HTPASSWD)
    running = Registry(0, folder / "data")
    with _token_server(folder, running) if tokens else _no_tokens() as realm:
        auth: dict[str, Any] = {"htpasswd": {"realm": "lab", "path": str(folder / "htpasswd")}}
        if tokens:
            (folder / "tokens.pem").write_text(authority("token-ca").pem)
            auth = {
                "token": {
                    "realm": realm,
                    "service": AUDIENCE,
                    "issuer": ISSUER,
                    "rootcertbundle": str(folder / "tokens.pem"),
                }
            }
        tls = {"certificate": str(folder / "tls.pem"), "key": str(folder / "tls.pem")}
        config = {
            "version": "0.1",
            "log": {"level": "info", "accesslog": {"disabled": True}},
            "storage": {"filesystem": {"rootdirectory": str(running.folder)}},
            "http": {"addr": f"{ADDRESS}:0", "secret": "lab", "tls": tls},
            "auth": auth,
        }
        (folder / "config.yml").write_text(yaml.safe_dump(config))
        command = ["docker-registry", "serve", str(folder / "config.yml")]
        environment = {"PATH": "/usr/bin", "OTEL_TRACES_EXPORTER": "none"}
        with subprocess.Popen(command, stderr=subprocess.PIPE, stdout=subprocess.DEVNULL, env=environment) as process:
            try:
                assert process.stderr is not None
                lines = []
                for line in map(bytes.decode, process.stderr):
                    lines.append(line)
                    if "listening on" in line:
                        running.port = int(line.partition(f"listening on {ADDRESS}:")[2].partition(",")[0])
                        break
                assert running.port, "".join(lines)
                drain = threading.Thread(target=process.stderr.read)
                drain.start()
                yield running
            finally:
                process.kill()
        drain.join()


@contextmanager
def _no_tokens() -> Iterator[str]:
    yield ""


@contextmanager
def _token_server(folder: Path, running: Registry) -> Iterator[str]:
    """Give tokens to who has the login, over TLS; yield the URL."""
    signer = authority("token-ca").issue(["tokens.lab.test"])
    pair = authority(CA).issue(["tokens.lab.test"], [IPv4Address(ADDRESS)])
    (folder / "token-server.pem").write_text(pair.certificate + pair.key)

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            asked = parse_qs(urlsplit(self.path).query)
            scope = asked.get("scope", [""])[0]
            running.token_requests.append(scope)
            granted = self.headers.get("Authorization") == f"Basic {LOGIN}"
            body = json.dumps({"token": _token(signer, scope)} if granted else {"details": "refused"}).encode()
            self.send_response(200 if granted else 401)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            """Print nothing."""

    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(folder / "token-server.pem")
    server = ThreadingHTTPServer((ADDRESS, 0), Handler)
    server.socket = context.wrap_socket(server.socket, server_side=True)
    with serving(server):
        yield f"https://{ADDRESS}:{server.server_port}/token"


def _token(signer: Pair, scope: str) -> str:
    kind, path, actions = scope.split(":")
    certificate = x509.load_pem_x509_certificate(signer.certificate.encode())
    key = load_pem_private_key(signer.key.encode(), password=None)
    assert isinstance(key, ec.EllipticCurvePrivateKey)
    now = int(time.time())
    claims = {
        **{"iss": ISSUER, "sub": USER, "aud": AUDIENCE, "jti": "one"},
        **{"exp": now + 300, "nbf": now - 60, "iat": now},
        "access": [{"type": kind, "name": path, "actions": actions.split(",")}],
    }
    chain = [base64.b64encode(certificate.public_bytes(Encoding.DER)).decode()]
    head = _url64(json.dumps({"typ": "JWT", "alg": "ES256", "x5c": chain}).encode())
    signed = f"{head}.{_url64(json.dumps(claims).encode())}"
    r, s = decode_dss_signature(key.sign(signed.encode(), ec.ECDSA(hashes.SHA256())))
    return f"{signed}.{_url64(r.to_bytes(32) + s.to_bytes(32))}"


def _url64(content: bytes) -> str:
    return base64.urlsafe_b64encode(content).rstrip(b"=").decode()
