"""Names of image repositories, as the installer checks them with github.com/distribution/reference."""

import re

_COMPONENT = "[a-z0-9]+(?:(?:[._]|__|-+)[a-z0-9]+)*"
_LABEL = "[A-Za-z0-9](?:[A-Za-z0-9-]*[A-Za-z0-9])?"
_NAME = rf"(?:{_LABEL}(?:\.{_LABEL})*(?::[0-9]+)?/)?{_COMPONENT}(?:/{_COMPONENT})*"
_REFERENCE = re.compile(rf"({_NAME})(:\w[\w.-]{{0,127}})?(@[A-Za-z][A-Za-z0-9+._-]*:[0-9a-fA-F]{{32,}})?", re.ASCII)
_IDENTIFIER = re.compile("[a-f0-9]{64}")
LONGEST_NAME = 255
DEFAULT_REGISTRY = "docker.io"


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
