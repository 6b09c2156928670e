"""The payload's files: found by convention, pinned by digest, with a model of the parts of Ignition that are checked.

The files hold keys and the pull secret, so messages quote only names and times from them.
"""

import gzip
import hashlib
import re
import zlib
from base64 import b64decode
from fnmatch import fnmatch
from pathlib import Path
from urllib.parse import unquote_to_bytes, urlsplit

from pydantic import Field, ValidationError

from base.errors import PayloadError, word
from base.files import read_file
from base.spec import Model
from payload.pem import Certificates, certificates_of, pem_of

TAKE = "take the file that openshift-install wrote"
CONFIG_PORT = 22623
"""Port of the config server, from which a machine fetches its Ignition on first boot."""
UNITS = "/etc/systemd/system"
"""The folder to which Ignition writes units."""
_SPEC = re.compile(r"3\.[2-6]\.0")  # openshift-install 4.16 to 4.23 writes 3.2.0; Ignition 2.26 reads 3.6.0 at most


class Content(Model):
    """Content, as a data URL or from elsewhere. It may be one of the payload's many keys."""

    source: str | None = Field(None, repr=False)
    compression: str | None = None

    def data(self) -> bytes:
        """Return the data of the data URL.

        Raises:
            ValueError: The source is not a data URL, or a broken one.
        """
        head, comma, body = (self.source or "data:,").partition(",")
        if not comma or not head.startswith("data:"):
            raise ValueError("its source is not a data URL")
        raw = unquote_to_bytes(body)
        try:
            raw = b64decode(raw, validate=True) if head.endswith(";base64") else raw
            return gzip.decompress(raw) if self.compression == "gzip" else raw
        except (ValueError, OSError, EOFError, zlib.error):
            raise ValueError("its data URL is broken") from None


class _Tls(Model):
    authorities: tuple[Content, ...] = Field((), alias="certificateAuthorities")


class _Security(Model):
    tls: _Tls = _Tls()


class _Merging(Model):
    merge: tuple[Content, ...] = ()
    replace: Content | None = None


class _Ignition(Model):
    version: str
    config: _Merging = _Merging()
    security: _Security = _Security()


class _StoredFile(Model):
    path: str
    contents: Content = Content()


class _Storage(Model):
    files: tuple[_StoredFile, ...] = ()


class _NamedUnit(Model):
    name: str


class _Systemd(Model):
    units: tuple[_NamedUnit, ...] = ()


class IgnitionFile(Model):
    """One of the payload's files."""

    ignition: _Ignition
    storage: _Storage = _Storage()
    systemd: _Systemd = _Systemd()

    @property
    def paths(self) -> list[str]:
        """Paths of all files and units that the config writes."""
        return [*(file.path for file in self.storage.files), *(f"{UNITS}/{unit.name}" for unit in self.systemd.units)]

    def contents(self, pattern: str) -> dict[str, Content]:
        """Return the contents of the files whose path matches `pattern`, by path."""
        return {file.path: file.contents for file in self.storage.files if fnmatch(file.path, pattern)}


def payload_folder(stack: str) -> Path:
    """Return the folder of a stack's payload, relative to the project."""
    return Path("stacks", stack, "payload")


def again(where: Path) -> str:
    """Return the commands that generate another payload than that of a file: the first lets the second pass."""
    stack = where.parent.parent.name
    return f"`pulumi config rm payload --stack {word(stack)}`, then `okd-baremetal payload {word(stack)}`"


def generate_it(where: Path) -> str:
    """Return the fix of a file that is not the payload of its stack."""
    return f"generate it from this stack's install-config.yaml: {again(where)}"


def read_payload(stack: str, name: str, sha256: str) -> bytes:
    """Read `stacks/<stack>/payload/<name>.ign`, which must have the digest that the stack pins.

    Raises:
        PayloadError: The file cannot be read, or has another digest.
    """
    path = payload_folder(stack) / f"{name}.ign"
    try:
        content = read_file(path)
    except OSError as error:
        fix = f"put the payload's {name}.ign there"
        raise PayloadError(f"cannot be read ({error.strerror})", where=str(path), fix=fix) from None
    if (actual := hashlib.sha256(content).hexdigest()) != sha256:
        pin = f"`pulumi config set --path payload.{name} {word(actual)}`"
        fix = f"put the pinned file there; if no machine runs with that one, pin this one: {pin}"
        raise PayloadError(f"sha256 is {actual}, the stack pins {sha256}", where=str(path), fix=fix)
    return content


def parse_ignition(where: Path, content: bytes) -> IgnitionFile:
    """Parse an Ignition config.

    Raises:
        PayloadError: It is not one, or one of a release that is too old.
    """
    try:
        config = IgnitionFile.model_validate_json(content)
    except ValidationError as error:
        raise PayloadError(f"not an Ignition config ({first_reason(error)})", where=str(where), fix=TAKE) from None
    version = config.ignition.version
    if not _SPEC.fullmatch(version):
        fix = "generate it with the release's own openshift-install, 4.16 or newer"
        raise PayloadError(f"ignition.version is {version}, not one of 3.2.0 to 3.6.0", where=str(where), fix=fix)
    return config


def stored_file(bootstrap: bytes, path: str) -> bytes | None:
    """Return the content of a file that a payload's bootstrap.ign writes. None: it does not write that file.

    Raises:
        PayloadError: The config or the file cannot be read.
    """
    where = Path("bootstrap.ign")
    content = parse_ignition(where, bootstrap).contents(path).get(path)
    return data_of(where, path, content) if content else None


def payload_ca(pointer: bytes) -> str:
    """Return the PEM of the CA in a payload's pointer, such as master.ign: it signs the config server's certificate.

    Raises:
        PayloadError: The config has no CA.
    """
    where = Path("payload")
    return pem_of(authority_of(where, parse_ignition(where, pointer)))


def authority_of(where: Path, config: IgnitionFile) -> Certificates:
    """Return the CA that a pointer config trusts.

    Raises:
        PayloadError: The config has no CA.
    """
    what = "ignition.security.tls.certificateAuthorities"
    pem = data_of(where, what, next(iter(config.ignition.security.tls.authorities), None))
    return certificates_in(where, what, pem)  # refuses an empty CA, with which clients would trust the system's CAs


def certificates_in(where: Path, path: str, pem: bytes) -> Certificates:
    """Return the certificates in a PEM file of the payload.

    Raises:
        PayloadError: The file has no readable certificate.
    """
    try:
        return certificates_of(pem)
    except ValueError:
        raise PayloadError(f"no readable certificate in {path}", where=str(where), fix=TAKE) from None


def data_of(where: Path, path: str, resource: Content | None) -> bytes:
    """Return the content of a file in the payload's Ignition config.

    Raises:
        PayloadError: The file is missing or broken.
    """
    if resource is None:
        raise PayloadError(f"no {path} in it", where=str(where), fix=TAKE)
    try:
        return resource.data()
    except ValueError as error:
        raise PayloadError(f"{path} in it cannot be read: {error}", where=str(where), fix=TAKE) from None


def first_reason(error: ValidationError) -> str:
    """Return where a document does not fit its model, and why, without the value."""
    first = error.errors(include_input=False, include_url=False)[0]
    return ": ".join(filter(None, (".".join(map(str, first["loc"])), first["msg"])))


def host_of(url: str) -> str:
    """Return the host of a URL; empty if it has none."""
    try:
        return urlsplit(url).hostname or ""
    except ValueError:
        return ""


def other_cluster(where: Path, named: str, wanted: str) -> PayloadError:
    """Return the error of a file that names other hosts than the plan."""
    what = f"of another cluster: it names {named or 'no host'}, the plan names {wanted}"
    return PayloadError(what, where=str(where), fix=generate_it(where))
