"""Boot ISOs on a web server of the operator's, for BMCs that cannot reach the provisioner."""

import http.client
import re
import urllib.error
import urllib.request

from boot_media.iso import Iso, place_pattern
from providers.base.errors import ProvisioningError

ANSWER_S = 30.0


class WebServer:
    """Asked whether it has what `okd-baremetal isos` wrote; what it sends, and to which reader, is unknown here.

    Args:
        url: Of the folder that has `<digest>/<host>.iso`.
        stack: Whose ISOs they are.
    """

    def __init__(self, url: str, stack: str) -> None:
        self.url, self.stack = url.rstrip("/"), stack

    def publish(self, host: str, iso: Iso) -> str:
        """See that the server has `iso`; its URL.

        Raises:
            ProvisioningError: It does not, or has another one; with the command that makes it.
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
        raise ProvisioningError(what, where=url, fix=fix)

    def is_ours(self, url: str, host: str) -> bool:
        """Whether `url` is an ISO of this or of an earlier run for `host`, whatever its digest."""
        return bool(re.fullmatch(rf"{re.escape(self.url)}/{place_pattern(host)}", url))

    def sent(self, url: str) -> int | None:
        """Bytes sent of the ISO at `url`: unknown here."""
        return None

    def progress(self, url: str) -> str:
        """Which reader has read how much of it: unknown here."""
        return ""


def _length(url: str) -> str | None:
    """What a HEAD says of it."""
    asked = urllib.request.Request(url, method="HEAD")  # noqa: S310  (http or https: judged with the options)
    with urllib.request.urlopen(asked, timeout=ANSWER_S) as answer:  # noqa: S310
        length: str | None = answer.headers.get("Content-Length")
        return length
