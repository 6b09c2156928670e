"""The payload's files: the pinned ones, and fit for this cluster before a machine is given them.

Nothing of their contents is told but names and times: they carry keys and the pull secret.
"""

import gzip
import hashlib
import zlib
from base64 import b64decode
from collections.abc import Callable, Mapping
from datetime import datetime
from fnmatch import fnmatch
from pathlib import Path
from typing import Any, TypeVar
from urllib.parse import unquote_to_bytes, urlsplit

import yaml
from cryptography import x509
from cryptography.hazmat.primitives.serialization import Encoding
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from assets.errors import AssetError

PLATFORM_MANIFEST = "/opt/openshift/manifests/cluster-infrastructure-02-config.yml"
CERTIFICATES = "/opt/openshift/tls/*.crt"
ROOT_CA = "/opt/openshift/tls/root-ca.crt"
IRONIC_QUADLETS = "/etc/containers/systemd/ironic*.container"

_GENERATE = "generate it with `python -m cluster payload-config` of this stack's install-config.yaml"
_TAKE = "take the file that openshift-install wrote"

_T = TypeVar("_T")
_Certificates = tuple[x509.Certificate, ...]


class PayloadError(AssetError):
    """One file of the payload must not reach a machine.

    Args:
        what: The file, and what is wrong with it.
        mend: What to do.
    """

    def __init__(self, what: str, mend: str) -> None:
        self.what, self.mend = what, mend
        super().__init__(f"{what}; {mend}")


class _Part(BaseModel):
    """What is looked at of a file; the rest is Ignition's business."""

    model_config = ConfigDict(frozen=True)


class _Resource(_Part):
    source: str | None = None
    compression: str | None = None

    def data(self) -> bytes:
        """What its data URL holds.

        Raises:
            ValueError: It is no such URL, or a broken one.
        """
        head, comma, body = (self.source or "data:,").partition(",")
        if not comma or not head.startswith("data:"):
            raise ValueError("its source is no data URL")
        raw = unquote_to_bytes(body)
        try:
            raw = b64decode(raw, validate=True) if head.endswith(";base64") else raw
            return gzip.decompress(raw) if self.compression == "gzip" else raw
        except (ValueError, OSError, EOFError, zlib.error):
            raise ValueError("its data URL is broken") from None


class _Tls(_Part):
    authorities: tuple[_Resource, ...] = Field((), alias="certificateAuthorities")


class _Security(_Part):
    tls: _Tls = _Tls()


class _Config(_Part):
    merge: tuple[_Resource, ...] = ()


class _Ignition(_Part):
    version: str
    config: _Config = _Config()
    security: _Security = _Security()


class _StoredFile(_Part):
    path: str
    contents: _Resource = _Resource()


class _Storage(_Part):
    files: tuple[_StoredFile, ...] = ()


class _Unit(_Part):
    name: str


class _Systemd(_Part):
    units: tuple[_Unit, ...] = ()


class _Ign(_Part):
    ignition: _Ignition
    storage: _Storage = _Storage()
    systemd: _Systemd = _Systemd()

    def contents(self, pattern: str) -> dict[str, _Resource]:
        """Files whose path is like `pattern`, by path."""
        return {file.path: file.contents for file in self.storage.files if fnmatch(file.path, pattern)}


class _PlatformStatus(_Part):
    type: str


class _Status(_Part):
    platform: _PlatformStatus = Field(alias="platformStatus")
    internal_url: str = Field(alias="apiServerInternalURI")
    url: str = Field(alias="apiServerURL")


class _Infrastructure(_Part):
    status: _Status


def read_payload(stack: str, name: str, sha256: str) -> bytes:
    """`stacks/<stack>/payload/<name>.ign`, which must be the one that the stack pins.

    Raises:
        PayloadError: Missing, or another one.
    """
    path = payload_folder(stack) / f"{name}.ign"
    try:
        content = path.read_bytes()
    except OSError as error:
        raise PayloadError(
            f"{path}: cannot be read ({error.strerror})", f"put the payload's {name}.ign there"
        ) from None
    if (seen := hashlib.sha256(content).hexdigest()) != sha256:
        what = f"{path}: sha256 is {seen}, the stack pins {sha256}"
        mend = f"put the pinned one there, or pin this one: `pulumi config set --path payload.{name} {seen}`"
        raise PayloadError(what, mend)
    return content


def read_bootstrap(stack: str, sha256: str, now: datetime) -> bytes:
    """The payload's bootstrap.ign. Its certificates last for a day, and a run may be tried again much later.

    Raises:
        PayloadError: As `read_payload`; or it is useless by `now`.
    """
    content, where = read_payload(stack, "bootstrap", sha256), payload_folder(stack) / "bootstrap.ign"
    _check_certificates(where, _parse(where, content), now)
    return content


def payload_folder(stack: str) -> Path:
    """Where a stack's payload is, seen from the project."""
    return Path("stacks", stack, "payload")


def stored_file(bootstrap: bytes, path: str) -> bytes | None:
    """A file that a payload's bootstrap.ign writes; None: it writes none there.

    Raises:
        PayloadError: It cannot be read.
    """
    where = Path("bootstrap.ign")
    found = _parse(where, bootstrap).contents(path).get(path)
    return _data(where, path, found) if found else None


def payload_ca(pointer: bytes) -> str:
    """PEM of the CA in a payload's master.ign or worker.ign, which signed the cluster's API.

    Raises:
        PayloadError: The config carries none.
    """
    where = Path("payload")
    root = _authority(where, _parse(where, pointer))
    return "".join(each.public_bytes(Encoding.PEM).decode() for each in root)


def check_payload(folder: Path, contents: Mapping[str, bytes], domain: str, now: datetime) -> list[PayloadError]:
    """Everything that is wrong with these files of a payload.

    Args:
        folder: Where they are.
        contents: By `bootstrap`, `master`, `worker`: those that the phase reads.
        domain: The cluster's, e.g. `okd.example.com`.
        now: With a time zone.
    """
    found = list[PayloadError]()
    roots = dict[Path, _Certificates]()

    def holds(check: Callable[..., _T], *args: Any) -> _T | None:
        try:
            return check(*args)
        except PayloadError as error:
            found.append(error)
            return None

    for name, content in contents.items():
        where = folder / f"{name}.ign"
        config = holds(_parse, where, content)
        if config is None:
            continue
        if name == "bootstrap":
            holds(_check_platform, where, config, domain)
            root = holds(_check_certificates, where, config, now)
        else:
            holds(_check_source, where, config, domain)
            root = holds(_authority, where, config)
        if root is not None:
            roots[where] = root
    holds(_check_one_root, roots)
    return found


def _parse(where: Path, content: bytes) -> _Ign:
    try:
        config = _Ign.model_validate_json(content)
    except ValidationError as error:
        raise PayloadError(f"{where}: no Ignition config ({_first(error)})", _TAKE) from None
    version = config.ignition.version
    if not version.startswith("3."):
        raise PayloadError(
            f"{where}: ignition.version is {version}, 3.x is wanted",
            "generate it with openshift-install 4.6 or newer, the release's own",
        )
    return config


def _check_platform(where: Path, config: _Ign, domain: str) -> None:
    """Platform None, no Ironic and this cluster's names: of these the first that fails, for all have one cause."""
    status = _infrastructure(where, config).status
    if status.platform.type != "None":
        raise PayloadError(f"{where}: generated for platform {status.platform.type}, None is wanted", _GENERATE)
    units = [unit.name for unit in config.systemd.units if unit.name.startswith("ironic")]
    if ironic := [*config.contents(IRONIC_QUADLETS), *units]:
        raise PayloadError(f"{where}: brings Ironic ({', '.join(ironic)}), a second owner of the servers", _GENERATE)
    for url, wanted in ((status.internal_url, f"api-int.{domain}"), (status.url, f"api.{domain}")):
        if _host(url) != wanted:
            raise _other_cluster(where, _host(url), wanted)


def _infrastructure(where: Path, config: _Ign) -> _Infrastructure:
    text = _data(where, PLATFORM_MANIFEST, config.contents(PLATFORM_MANIFEST).get(PLATFORM_MANIFEST))
    try:
        return _Infrastructure.model_validate(yaml.safe_load(text))
    except ValidationError as error:
        why = _first(error)
    except (yaml.YAMLError, ValueError):
        why = "no YAML"
    raise PayloadError(f"{where}: {PLATFORM_MANIFEST} in it is no infrastructure manifest ({why})", _TAKE)


def _check_source(where: Path, config: _Ign, domain: str) -> None:
    hosts = [_host(each.source or "") for each in config.ignition.config.merge]
    wanted = f"api-int.{domain}"
    if wanted not in hosts:
        raise _other_cluster(where, ", ".join(filter(None, hosts)), wanted)


def _other_cluster(where: Path, seen: str, wanted: str) -> PayloadError:
    return PayloadError(f"{where}: of another cluster: it names {seen or 'no host'}, the plan {wanted}", _GENERATE)


def _check_certificates(where: Path, config: _Ign, now: datetime) -> _Certificates:
    """All of them are valid now; which are the root."""
    pems = {path: _data(where, path, each) for path, each in config.contents(CERTIFICATES).items()}
    # Without a trust bundle there are empty files.
    found = {path: _certificates(where, path, pem) for path, pem in pems.items() if pem.strip()}
    if ROOT_CA not in found:
        raise PayloadError(f"{where}: no {ROOT_CA} in it", _TAKE)
    path, ends = min(_times(found, lambda each: each.not_valid_after_utc), key=lambda each: each[1])
    if ends < now:
        raise PayloadError(
            f"{where}: useless since {ends:%Y-%m-%d %H:%M} UTC, when the first of its certificates ended ({path})",
            "generate the payload anew, as in docs/how-to/generate-the-payload.md, and pin it",
        )
    path, begins = max(_times(found, lambda each: each.not_valid_before_utc), key=lambda each: each[1])
    if begins > now:
        raise PayloadError(
            f"{where}: good only from {begins:%Y-%m-%d %H:%M} UTC on ({path}), here it is {now:%Y-%m-%d %H:%M}",
            "set the clock of this host right, or else generate the payload anew where the clock is",
        )
    return found[ROOT_CA]


def _times(
    found: Mapping[str, _Certificates], time_of: Callable[[x509.Certificate], datetime]
) -> list[tuple[str, datetime]]:
    return [(path, time_of(each)) for path, certificates in found.items() for each in certificates]


def _authority(where: Path, config: _Ign) -> _Certificates:
    what = "ignition.security.tls.certificateAuthorities"
    pem = _data(where, what, next(iter(config.ignition.security.tls.authorities), None))
    return _certificates(where, what, pem)  # An empty CA would mean: trust those of this machine.


def _check_one_root(roots: Mapping[Path, _Certificates]) -> None:
    if not roots:
        return
    (first, root), *others = roots.items()
    if different := [path.name for path, other in others if set(other) != set(root)]:
        what = f"{first}: its root CA is not that of {' and '.join(different)}"
        raise PayloadError(what, "take all files from one run of openshift-install, and pin them")


def _certificates(where: Path, path: str, pem: bytes) -> _Certificates:
    try:
        return tuple(x509.load_pem_x509_certificates(pem))
    except ValueError:
        raise PayloadError(f"{where}: no readable certificate in {path}", _TAKE) from None


def _data(where: Path, path: str, resource: _Resource | None) -> bytes:
    if resource is None:
        raise PayloadError(f"{where}: no {path} in it", _TAKE)
    try:
        return resource.data()
    except ValueError as error:
        raise PayloadError(f"{where}: {path} in it cannot be read: {error}", _TAKE) from None


def _host(url: str) -> str:
    try:
        return urlsplit(url).hostname or ""
    except ValueError:
        return ""


def _first(error: ValidationError) -> str:
    """Where and why; never the value."""
    first = error.errors(include_input=False, include_url=False)[0]
    return ": ".join(filter(None, (".".join(map(str, first["loc"])), first["msg"])))
