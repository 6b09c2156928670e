"""Ignition configs in types: the part of spec 3.2.0 that is used, and our files on top of a payload's config.

The same parts give the same bytes, in whatever order they come. What is absent is left out: Ignition merges member by
member, and one that a child does not name stays as its parent has it.
"""

import base64
import gzip
import hashlib
import json
import posixpath
import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, Self

from pydantic import SecretBytes, SecretStr

from assets.contract import CONNECTIONS, UNITS
from assets.file import RenderedFile
from providers.base.errors import AssetError

SPEC = "3.2.0"  # what openshift-install 4.16 to 4.23 writes; read by Ignition 2.7 and newer

_MODES = range(0o777 + 1)  # before spec 3.6 Ignition drops setuid, setgid and sticky bits
_OTHERS = 0o077  # what a mode gives to group and others
_UNIT_NAME = re.compile(r"[A-Za-z0-9:_.\\@-]+\.(service|socket|target|path|timer|mount|automount|swap|slice)")

Content = str | bytes | SecretStr | SecretBytes
"""A text or bytes; secret where its type says so."""
Compression = Literal["", "gzip"]


@dataclass(frozen=True)
class Resource:
    """Content and where it is: of a file, of a config to merge, of a CA."""

    source: str = field(repr=False)
    """URL with the scheme `data` or `https`."""
    compression: Compression | None = None
    """Of what is at `source`; empty: none, even if a parent in a merge names one."""
    secret: bool = False

    @classmethod
    def inline(cls, content: Content, compression: Compression | None = None) -> Self:
        """A data URL with `content`, which is packed here where `compression` says so."""
        secret = isinstance(content, SecretStr | SecretBytes)
        plain = content.get_secret_value() if isinstance(content, SecretStr | SecretBytes) else content
        raw = plain.encode() if isinstance(plain, str) else plain
        encoded = base64.b64encode(pack(raw) if compression else raw).decode()
        return cls(f"data:;base64,{encoded}", compression, secret)

    def _members(self) -> dict[str, Any]:
        return _given(source=self.source, compression=self.compression)


@dataclass(frozen=True)
class File:
    """A file, in place of what may be at its path.

    Raises:
        AssetError: Its path is not absolute or not in its shortest form; its mode is out of range; it is secret, and
            its mode lets others than its owner in.
    """

    path: str
    contents: Resource
    mode: int = 0o600
    """0 to 0o777."""
    user: str | None = None
    """Name of the owner; None: root, or whom a parent in a merge names."""
    overwrite: bool = True

    def __post_init__(self) -> None:
        if f"/{posixpath.normpath(self.path).lstrip('/')}" != self.path:
            raise AssetError(
                "no path for a file", where=self.path, fix="write it from / on, without `..`, `//` and the like"
            )
        if self.mode not in _MODES:
            raise AssetError(f"mode {self.mode:#o} is out of range", where=self.path, fix="give one of 0 to 0o777")
        if self.contents.secret and self.mode & _OTHERS:
            what = f"is secret, and others may use it by mode {self.mode:#o}"
            raise AssetError(what, where=self.path, fix="give it 0o600")

    def _members(self) -> dict[str, Any]:
        return _given(
            path=self.path,
            mode=self.mode,
            overwrite=self.overwrite,
            user=_given(name=self.user),
            contents=self.contents._members(),
        )


@dataclass(frozen=True)
class Unit:
    """A systemd unit. Everybody on the machine may read it, so its text is no place for a secret.

    Raises:
        AssetError: systemd knows no unit of such a name.
    """

    name: str
    contents: str
    enabled: bool = True

    def __post_init__(self) -> None:
        if not _UNIT_NAME.fullmatch(self.name):
            raise AssetError(
                "no name of a unit", where=self.name, fix="end it in .service or another type of systemd's"
            )

    @property
    def path(self) -> str:
        """Where Ignition writes it."""
        return f"{UNITS}/{self.name}"

    def _members(self) -> dict[str, Any]:
        return _given(name=self.name, enabled=self.enabled, contents=self.contents)


@dataclass(frozen=True)
class User:
    """An account, made where it is missing.

    Raises:
        AssetError: A key or a group is there twice.
    """

    name: str
    ssh_authorized_keys: tuple[str, ...] = ()
    """Each with one or more lines of authorized_keys."""
    groups: tuple[str, ...] = ()
    """The supplementary ones of the machine that it is in; an account that is there already leaves its others."""
    password_hash: SecretStr | None = None
    """As crypt(5) has it."""

    def __post_init__(self) -> None:
        _refuse_twice([*self.ssh_authorized_keys, *self.groups], f"keys and groups of user {self.name}")

    def _members(self) -> dict[str, Any]:
        return _given(
            name=self.name,
            sshAuthorizedKeys=self.ssh_authorized_keys,
            groups=self.groups,
            passwordHash=self.password_hash.get_secret_value() if self.password_hash else None,
        )


@dataclass(frozen=True)
class Config:
    """One config.

    Raises:
        AssetError: Two of its files and units have one path, or two users one name.
    """

    files: tuple[File, ...] = ()
    units: tuple[Unit, ...] = ()
    users: tuple[User, ...] = ()
    merge: tuple[Resource, ...] = ()
    """Children: configs that win over this one, and each over those before it."""
    certificate_authorities: tuple[Resource, ...] = ()
    """PEM: whom to trust, beside the system's, where something is fetched."""

    def __post_init__(self) -> None:
        paths = [*(file.path for file in self.files), *(unit.path for unit in self.units)]
        _refuse_twice(paths, "files and units of one Ignition config")
        _refuse_twice([user.name for user in self.users], "users of one Ignition config")

    def to_json(self) -> str:
        """Its text. Secrets are in it in the clear."""
        tls = _given(certificateAuthorities=[each._members() for each in self.certificate_authorities])
        parts = _given(
            ignition=_given(
                version=SPEC,
                config=_given(merge=[each._members() for each in self.merge]),
                security=_given(tls=tls),
            ),
            storage=_given(files=[each._members() for each in sorted(self.files, key=lambda file: file.path)]),
            systemd=_given(units=[each._members() for each in sorted(self.units, key=lambda unit: unit.name)]),
            passwd=_given(users=[each._members() for each in sorted(self.users, key=lambda user: user.name)]),
        )
        return json.dumps(parts, sort_keys=True, separators=(",", ":"))


def own_config(files: Iterable[RenderedFile]) -> str:
    """Our files as one Ignition config, the same bytes for the same files.

    Raises:
        AssetError: As `File`, `Unit` and `Config`; or a unit is secret.
    """
    files = tuple(files)
    stored = tuple(_file(file) for file in files if not _is_unit(file))
    return Config(stored, tuple(_unit(file) for file in files if _is_unit(file))).to_json()


def keyfiles_in(files: Iterable[RenderedFile]) -> dict[str, str]:
    """NetworkManager's keyfiles among the files of one server, text by name; its boot ISO carries them as well."""
    return {file.name: file.text for file in files if file.path.startswith(f"{CONNECTIONS}/")}


def compose(payload: bytes, ours: str) -> bytes:
    """The config a machine gets: the payload's, then ours. Later children win over earlier ones."""
    # Compressed: the bootstrap reads it over fw_cfg, which slows down with the square of the size.
    children = (Resource.inline(payload, "gzip"), Resource.inline(ours, "gzip"))
    return Config(merge=children).to_json().encode()


def composed_sha256(payload_sha256: str, ours: str) -> str:
    """Digest of what `compose` makes, without the payload at hand (a preview has only its digest)."""
    return hashlib.sha256(f"{payload_sha256}\n{ours}".encode()).hexdigest()


def pack(content: bytes) -> bytes:
    """Gzipped, the same bytes for the same content."""
    return gzip.compress(content, mtime=0)


def _file(file: RenderedFile) -> File:
    # That it is not compressed is said: a MachineConfig's file of this path may be, and would hand that down.
    text = SecretStr(file.text) if file.secret else file.text
    return File(file.path, Resource.inline(text, ""), file.mode)


def _is_unit(file: RenderedFile) -> bool:
    return posixpath.dirname(file.path) == UNITS  # a drop-in is further down, and no unit


def _unit(file: RenderedFile) -> Unit:
    if file.secret:
        what = "is secret, and everybody may read a unit"
        raise AssetError(what, where=file.path, fix="keep that in a file of its own")
    return Unit(file.name, file.text)


def _refuse_twice(names: Sequence[str], among: str) -> None:
    for name, times in Counter(names).items():
        if times > 1:
            raise AssetError(f"{times} times among the {among}", where=name, fix="leave one of them")


def _given(**members: Any) -> dict[str, Any]:
    """Those that are there."""
    return {name: value for name, value in members.items() if value not in (None, (), [], {})}
