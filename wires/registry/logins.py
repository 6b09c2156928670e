"""The logins of a pull secret, and what a registry asks for one (RFC 9110, and the token protocol of registries)."""

import json
import re
from collections.abc import Mapping
from typing import NamedTuple, Self
from urllib.parse import urlencode

from base.errors import MISSHAPEN

_SCHEME = re.compile(r"\s*(basic|bearer)\b", re.IGNORECASE)
_BASE64 = re.compile("[A-Za-z0-9+/]+=*")
_PARAMETER = re.compile(r'\b(realm|service)="([^"]*)"')


def login_for(pull_secret: str, repository: str) -> str:
    """Return the base64 of `user:password` for a repository; empty if the pull secret has none.

    The longest key counts that is the repository, a start of it, or its registry, as containers/image looks it up
    (pkg/docker/config, GetCredentials); as there, base64 may have line ends (Go's encoding/base64 skips them).

    Args:
        pull_secret: As JSON; one that is not readable has no login.
        repository: With its registry.
    """
    try:
        auths: Mapping[str, Mapping[str, str]] = json.loads(pull_secret)["auths"]
        fitting = [key for key in auths if f"{repository}/".startswith(f"{key}/")]
        login = re.sub("[\r\n]", "", auths[max(fitting, key=len)]["auth"])
    except MISSHAPEN:
        return ""
    return login if _BASE64.fullmatch(login) else ""


class Challenge(NamedTuple):
    """How a registry wants a client to log in."""

    realm: str
    """The URL that gives tokens; empty: the login itself is sent."""
    service: str = ""

    @classmethod
    def of(cls, header: str) -> Self | None:
        """Return that of a `WWW-Authenticate` header; None: it asks for what no client of registries has."""
        match = _SCHEME.match(header)
        if match is None:
            return None
        if match[1].lower() == "basic":
            return cls("")
        parameters = dict(_PARAMETER.findall(header))
        return cls(parameters["realm"], parameters.get("service", "")) if parameters.get("realm") else None

    def token_url(self, path: str) -> str:
        """Return the URL of a token to pull from the repository with a path."""
        wanted = {"service": self.service} if self.service else {}
        query = urlencode({**wanted, "scope": f"repository:{path}:pull"})
        return f"{self.realm}{'&' if '?' in self.realm else '?'}{query}"
