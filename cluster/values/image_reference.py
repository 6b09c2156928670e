"""Names of images and of their repositories, as the installer reads them with github.com/distribution/reference."""

import re
from typing import NamedTuple, Self

_COMPONENT = "[a-z0-9]+(?:(?:[._]|__|-+)[a-z0-9]+)*"
_LABEL = "[A-Za-z0-9](?:[A-Za-z0-9-]*[A-Za-z0-9])?"
_NAME = rf"(?:{_LABEL}(?:\.{_LABEL})*(?::[0-9]+)?/)?{_COMPONENT}(?:/{_COMPONENT})*"
_REFERENCE = re.compile(rf"({_NAME})(:\w[\w.-]{{0,127}})?(@[A-Za-z][A-Za-z0-9+._-]*:[0-9a-fA-F]{{32,}})?", re.ASCII)
_IDENTIFIER = re.compile("[a-f0-9]{64}")
LONGEST_NAME = 255
DEFAULT_REGISTRY = "docker.io"


class ImageReference(NamedTuple):
    """An image of a repository, by digest or tag."""

    repository: str
    """With its registry, as `quay.io/okd/scos-release`."""
    version: str
    """`sha256:…`, or a tag."""

    @classmethod
    def of(cls, text: str) -> Self | None:
        """Return the image that a text names; None: it names none. With neither digest nor tag, it is `latest`."""
        match = _REFERENCE.fullmatch(text)
        if match is None or _IDENTIFIER.fullmatch(text):
            return None
        version = (match[3] or match[2] or ":latest")[1:]
        return cls(_completed(match[1]), version)

    @property
    def has_digest(self) -> bool:
        """Whether it is named by its digest."""
        return ":" in self.version

    @property
    def registry(self) -> str:
        """The host, and its port if one is named."""
        return self.repository.partition("/")[0]

    @property
    def path(self) -> str:
        """The repository's name at its registry."""
        return self.repository.partition("/")[2]

    def at(self, source: str, mirror: str) -> Self:
        """Return the image at a mirror of `source`, which is its repository, or the start of that."""
        return self._replace(repository=f"{mirror}{self.repository.removeprefix(source)}")

    def __str__(self) -> str:
        return f"{self.repository}{'@' if self.has_digest else ':'}{self.version}"


def is_repository(name: str) -> bool:
    """Return whether a text names a repository with its registry, without tag and digest."""
    match = None if _IDENTIFIER.fullmatch(name) else _REFERENCE.fullmatch(name)
    return match is not None and match[1] == name == _completed(name) and len(name) <= LONGEST_NAME


def may_be_a_registry(name: str) -> bool:
    """Return whether the installer checks a text as a host with or without a port, because it has no path."""
    match = None if _IDENTIFIER.fullmatch(name) else _REFERENCE.fullmatch(_completed(name))
    return match is not None and name != _completed(name) and len(match[1]) <= LONGEST_NAME


def _completed(name: str) -> str:
    """Return a name with the registry and the folder that it has by default."""
    first, slash, rest = name.partition("/")
    if not slash or not (set(first) & set(".:") or first == "localhost"):
        first, rest = DEFAULT_REGISTRY, name
    if first == f"index.{DEFAULT_REGISTRY}":
        first = DEFAULT_REGISTRY
    return f"{first}/library/{rest}" if first == DEFAULT_REGISTRY and "/" not in rest else f"{first}/{rest}"
