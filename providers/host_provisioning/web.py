"""Boot ISOs on the operator's own web server, for BMCs that cannot reach the provisioner."""

import http.client
import urllib.error
import urllib.request
from collections.abc import Sequence

from boot_media.iso import Iso
from providers.base.errors import ProvisioningError

ANSWER_S = 30.0


class WebServer:
    """Checks that a web server has the ISOs that `okd-baremetal isos` wrote. It cannot count what the server sends.

    Args:
        url: URL of the folder that contains `<digest>/<host>.iso`.
        stack: Name of the stack, for the fix.
    """

    def __init__(self, url: str, stack: str) -> None:
        self.url, self.stack = url.rstrip("/"), stack

    def publish(self, host: str, iso: Iso) -> str:
        """Check that the server has `iso`, and return its URL.

        Raises:
            ProvisioningError: It has none or another one; the message has the command that makes it.
        """
        url = f"{self.url}/{iso.place(host)}"
        try:
            length = _length(url)
        except urllib.error.HTTPError as error:
            what = f"HTTP {error.code} instead of the boot ISO of {host}"
        except (OSError, ValueError, http.client.HTTPException) as error:
            what = f"cannot be asked for the boot ISO of {host} ({getattr(error, 'reason', type(error).__name__)})"
        else:
            if length == str(iso.size):
                return url
            what = f"{length or 'an unknown number of'} bytes, the boot ISO of {host} has {iso.size}"
        fix = f"run `okd-baremetal isos {self.stack} --out <directory>`, and upload that directory to {self.url}/"
        # Without the digest: the path is as good as a password.
        raise ProvisioningError(what, where=f"{self.url}/…/{host}.iso", fix=fix)

    def sent(self, url: str) -> int | None:
        """Return None: the bytes sent by this server are unknown."""
        return None

    def progress(self, url: str) -> str:
        """Return an empty line: the readers of this server are unknown."""
        return ""

    def open_box(self, secret: str) -> str:
        """Return nothing: this server takes no text."""
        return ""

    def text_in(self, box: str) -> str:
        """Return nothing, for the same reason."""
        return ""

    def withdraw(self, host: str, iso: Iso) -> None:
        """Do nothing, see `admit`."""

    def admit(self, mac: str, script: str) -> None:
        """Refuse: what is on this server does not change with the state of an installation."""
        what = f"a web server, and the host with card {mac} boots from the network"
        raise ProvisioningError(what, where="media.url", fix="name media.address instead")

    def dismiss(self, mac: str) -> None:
        """Do nothing: no host was admitted."""

    def fetched(self, paths: Sequence[str]) -> list[str]:
        """Return none: the readers of this server are unknown."""
        return []


def _length(url: str) -> str | None:
    """Return the Content-Length that the server answers to a HEAD."""
    asked = urllib.request.Request(url, method="HEAD")  # noqa: S310  (http or https: judged with the options)
    with urllib.request.urlopen(asked, timeout=ANSWER_S) as answer:  # noqa: S310
        length: str | None = answer.headers.get("Content-Length")
        return length
