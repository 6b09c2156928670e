"""The logins that BMCs have refused in this process, so that each is tried once, whatever asks: accounts lock.

One that a BMC has accepted before is tried once more: an iLO refuses a good one now and then, as sushy and NVIDIA's
libredfish know.
"""

import hashlib
from dataclasses import dataclass
from typing import Self

from pydantic import SecretStr
from requests import Response

ACCEPTED: set["Login"] = set()
"""The logins with which a BMC has answered a request."""
REFUSED: dict["Login", Response] = {}
"""The answers that refused them. A run of Pulumi has one process for all resources."""


@dataclass(frozen=True)
class Login:
    """A login to one BMC, without the password."""

    endpoint: str
    username: str
    digest: str
    """SHA-256 of the password."""
    in_session: bool
    """Whether it opens a session: a BMC that refuses Basic has not looked at the password."""

    @classmethod
    def of(cls, endpoint: str, username: str, password: SecretStr, *, in_session: bool) -> Self:
        """Return the login with a password."""
        digest = hashlib.sha256(password.get_secret_value().encode()).hexdigest()
        return cls(endpoint, username, digest, in_session)
