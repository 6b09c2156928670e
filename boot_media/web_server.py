"""Boot ISOs on the operator's own web server, for BMCs that cannot reach the provisioner."""

from collections.abc import Sequence
from http import HTTPStatus

from base.bounded_answer import time_limit
from base.errors import ProvisioningError, word
from base.http_client import os_error, pool_for
from boot_media.iso import Iso

ANSWER_S = 30.0


class WebServer:
    """Checks that a web server has the ISOs that `okd-baremetal isos` wrote. It cannot count what the server sends.

    Args:
        url: URL of the folder that contains `<digest>/<host>.iso`.
        stack: Name of the stack, for the fix.
    """

    def __init__(self, url: str, stack: str) -> None:
        self.url, self.stack = url.rstrip("/"), stack

    def publish(self, host: str, iso: Iso, *, over_tls: bool = False) -> str:
        """Check that the server has `iso`, and return its URL.

        Raises:
            ProvisioningError: It has none or another one; the message has the command that makes it.
        """
        url = f"{self.url}/{iso.url_path(host)}"
        fix = (
            f"run `okd-baremetal isos {word(self.stack)} --out <directory>`, and upload that directory to {self.url}/"
        )
        try:
            status, length = _head(url)
        except OSError as error:
            what = f"cannot be asked for the boot ISO of {host} ({error.strerror or error})"
            fix = "correct media.url, or have that server answer this machine, too"
        else:
            if status == HTTPStatus.OK and length == str(iso.size):
                return url
            what = f"{length or 'an unknown number of'} bytes, the boot ISO of {host} has {iso.size}"
            if status != HTTPStatus.OK:
                what = f"HTTP {status} instead of the boot ISO of {host}"
        # Without the digest: the path is as good as a password.
        raise ProvisioningError(what, where=f"{self.url}/…/{host}.iso", fix=fix)

    def certificate(self, url: str) -> str:
        """Return none: the site has set up its BMCs for its own server."""
        return ""

    def sent(self, url: str) -> int | None:
        """Return None: the bytes sent by this server are unknown."""
        return None

    def progress(self, url: str) -> str:
        """Return an empty line: the readers of this server are unknown."""
        return ""

    def report_url(self, secret: str) -> str:
        """Return an empty URL: this server receives no reports."""
        return ""

    def received_report(self, url: str) -> str:
        """Return an empty report, see `report_url`."""
        return ""

    def withdraw(self, host: str, iso: Iso) -> None:
        """Do nothing, see `enable_boot`."""

    def enable_boot(self, mac: str, script: str) -> None:
        """Refuse: what is on this server does not change with the state of an installation."""
        what = f"a web server, and the host with card {mac} boots from the network"
        raise ProvisioningError(what, where="media.url", fix="name media.address instead")

    def disable_boot(self, mac: str) -> None:
        """Do nothing: `enable_boot` refuses every host."""

    def fetched(self, paths: Sequence[str]) -> list[str]:
        """Return none: the readers of this server are unknown."""
        return []


def _head(url: str) -> tuple[int, str]:
    """Return the status and Content-Length (empty: none) that the server answers to a HEAD.

    Raises:
        OSError: It gives no answer.
    """
    from urllib3.exceptions import HTTPError  # noqa: PLC0415  (a preview connects to nothing)

    try:
        with time_limit(ANSWER_S), pool_for(url, ANSWER_S) as pool:
            answer = pool.request("HEAD", url)
    except HTTPError as error:
        raise os_error(error) from None
    return answer.status, answer.headers.get("Content-Length", "")
