"""Typed Ignition configs: the part of spec 3.2.0 that this program uses, and its files on top of a payload's config.

The same parts give the same bytes, in any order. Unset members are left out: Ignition merges configs member by
member, and keeps the parent's value if the child has none.
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
from base.errors import AssetError

SPEC = "3.2.0"  # what openshift-install 4.16 to 4.23 writes; read by Ignition 2.7 and newer

_MODES = range(0o777 + 1)  # before spec 3.6 Ignition drops setuid, setgid and sticky bits
_OTHERS = 0o077  # the permission bits of group and others
_UNIT_NAME = re.compile(r"[A-Za-z0-9:_.\\@-]+\.(service|socket|target|path|timer|mount|automount|swap|slice)")

Content = str | bytes | SecretStr | SecretBytes
"""Text or bytes; a secret if the type is `SecretStr` or `SecretBytes`."""
Compression = Literal["", "gzip"]


@dataclass(frozen=True)
class Resource:
    """The content of a file, of a config to merge, or of a CA, named by its URL."""

    source: str = field(repr=False)
    """URL with the scheme `data` or `https`."""
    compression: Compression | None = None
    """Compression of the content. Empty: none, even if a parent in a merge has one. None: as the parent has it."""
    secret: bool = False

    @classmethod
    def inline(cls, content: Content, compression: Compression | None = None) -> Self:
        """Return `content` as a data URL, gzipped here if `compression` is set."""
        secret = isinstance(content, SecretStr | SecretBytes)
        plain = content.get_secret_value() if isinstance(content, SecretStr | SecretBytes) else content
        raw = plain.encode() if isinstance(plain, str) else plain
        encoded = base64.b64encode(pack(raw) if compression else raw).decode()
        return cls(f"data:;base64,{encoded}", compression, secret)

    def _members(self) -> dict[str, Any]:
        return _given(source=self.source, compression=self.compression)


@dataclass(frozen=True)
class File:
    """A file, which replaces any file at its path.

    Raises:
        AssetError: Its path is not absolute or not in its shortest form; its mode is out of range; or it is secret,
            and its mode gives access to others than the owner.
    """

    path: str
    contents: Resource
    mode: int = 0o600
    """0 to 0o777."""
    user: str | None = None
    """Name of the owner. None: the owner that a parent in a merge names, else root."""
    overwrite: bool = True

    def __post_init__(self) -> None:
        if f"/{posixpath.normpath(self.path).lstrip('/')}" != self.path:
            raise AssetError(
                "not an absolute path in shortest form", where=self.path, fix="start it with /, without `..` and `//`"
            )
        if self.mode not in _MODES:
            raise AssetError(f"mode {self.mode:#o} is out of range", where=self.path, fix="use one of 0 to 0o777")
        if self.contents.secret and self.mode & _OTHERS:
            what = f"is secret, but mode {self.mode:#o} gives access to others"
            raise AssetError(what, where=self.path, fix="use mode 0o600")

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
    """A systemd unit, or the mask of one. Everyone on the machine can read it, so it must not hold a secret.

    Raises:
        AssetError: The name is not valid for a systemd unit.
    """

    name: str
    contents: str
    """Empty: the unit is masked. Ignition then removes what a parent in a merge has there (stages/files/units.go)."""
    enabled: bool = True

    def __post_init__(self) -> None:
        if not _UNIT_NAME.fullmatch(self.name):
            raise AssetError(
                "not the name of a systemd unit", where=self.name, fix="end it in .service or another unit type"
            )

    @property
    def path(self) -> str:
        """The path that Ignition writes the unit to."""
        return f"{UNITS}/{self.name}"

    def _members(self) -> dict[str, Any]:
        if not self.contents:
            return {"name": self.name, "enabled": False, "mask": True}
        return _given(name=self.name, enabled=self.enabled, contents=self.contents)


@dataclass(frozen=True)
class User:
    """An account, which Ignition creates if it is missing.

    Raises:
        AssetError: A key or a group is listed twice.
    """

    name: str
    ssh_authorized_keys: tuple[str, ...] = ()
    """Each has one or more lines of authorized_keys."""
    groups: tuple[str, ...] = ()
    """Supplementary groups, which exist on the machine. An existing account is removed from all others."""
    password_hash: SecretStr | None = None
    """In the format of crypt(5)."""

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
    """One Ignition config.

    Raises:
        AssetError: Two files or units share a path, or two users share a name.
    """

    files: tuple[File, ...] = ()
    units: tuple[Unit, ...] = ()
    users: tuple[User, ...] = ()
    merge: tuple[Resource, ...] = ()
    """Child configs. Each overrides this config and the children before it."""
    certificate_authorities: tuple[Resource, ...] = ()
    """CAs in PEM that Ignition trusts, beside the system's, for what it fetches."""

    def __post_init__(self) -> None:
        paths = [*(file.path for file in self.files), *(unit.path for unit in self.units)]
        _refuse_twice(paths, "files and units of one Ignition config")
        _refuse_twice([user.name for user in self.users], "users of one Ignition config")

    def to_json(self) -> str:
        """Return the config as JSON, with its secrets in the clear."""
        tls = _given(certificateAuthorities=[authority._members() for authority in self.certificate_authorities])
        parts = _given(
            ignition=_given(
                version=SPEC,
                config=_given(merge=[child._members() for child in self.merge]),
                security=_given(tls=tls),
            ),
            storage=_given(files=[file._members() for file in sorted(self.files, key=lambda file: file.path)]),
            systemd=_given(units=[unit._members() for unit in sorted(self.units, key=lambda unit: unit.name)]),
            passwd=_given(users=[user._members() for user in sorted(self.users, key=lambda user: user.name)]),
        )
        return json.dumps(parts, sort_keys=True, separators=(",", ":"))


def own_config(files: Iterable[RenderedFile]) -> str:
    """Return rendered files as one Ignition config. The same files give the same bytes.

    Raises:
        AssetError: See `File`, `Unit` and `Config`; or a unit is secret.
    """
    files = tuple(files)
    stored = tuple(_file(file) for file in files if not _is_unit(file))
    return Config(stored, tuple(_unit(file) for file in files if _is_unit(file))).to_json()


def keyfiles_in(files: Iterable[RenderedFile]) -> dict[str, str]:
    """Return the NetworkManager keyfiles of one server, text by name. Its boot ISO carries them as well."""
    return {file.name: file.text for file in files if file.path.startswith(f"{CONNECTIONS}/")}


def compose(payload: bytes, own: str) -> bytes:
    """Return a machine's config: the payload's, then this program's own. A later child overrides an earlier one."""
    # Compressed, because the bootstrap VM reads it over fw_cfg, which takes time in the square of the size.
    children = (Resource.inline(payload, "gzip"), Resource.inline(own, "gzip"))
    return Config(merge=children).to_json().encode()


def composed_sha256(payload_sha256: str, own: str) -> str:
    """Return a digest that changes when the result of `compose` does. A preview has only the payload's digest."""
    return hashlib.sha256(f"{payload_sha256}\n{own}".encode()).hexdigest()


def pack(content: bytes) -> bytes:
    """Gzip the content. The same content gives the same bytes."""
    return gzip.compress(content, mtime=0)


def _file(file: RenderedFile) -> File:
    # "" and not None: the payload may have a compressed file at this path, and a merge would keep that compression.
    text = SecretStr(file.text) if file.secret else file.text
    return File(file.path, Resource.inline(text, ""), file.mode)


def _is_unit(file: RenderedFile) -> bool:
    return posixpath.dirname(file.path) == UNITS  # a drop-in is in a folder below, and is not a unit


def _unit(file: RenderedFile) -> Unit:
    if file.secret:
        what = "is secret, but everyone on the machine can read a unit"
        raise AssetError(what, where=file.path, fix="move the secret to a file of its own")
    return Unit(file.name, file.text)


def _refuse_twice(names: Sequence[str], among: str) -> None:
    for name, times in Counter(names).items():
        if times > 1:
            raise AssetError(f"{times} times among the {among}", where=name, fix="keep one of them")


def _given(**members: Any) -> dict[str, Any]:
    """Return the members that are set."""
    return {name: value for name, value in members.items() if value not in (None, (), [], {})}
