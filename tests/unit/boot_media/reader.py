"""A reader of the media server."""

import http.client
import ssl
from urllib.parse import urlsplit


def ask(
    url: str, method: str = "GET", *, reader: str = "127.0.0.1", target: str = "", trusts: str = "", **headers: str
) -> tuple[http.client.HTTPResponse, bytes]:
    """Return the answer to a request and its body, once the server has counted what it sent.

    Args:
        target: The target in the request line, in place of the path of `url`.
        trusts: PEM by which the server of an https URL is verified.
    """
    parts, source = urlsplit(url), (reader, 0)
    connection = http.client.HTTPConnection(parts.netloc, timeout=10, source_address=source)
    if parts.scheme == "https":
        tls = ssl.create_default_context(cadata=trusts)
        connection = http.client.HTTPSConnection(parts.netloc, timeout=10, source_address=source, context=tls)
    connection.request(method, target or parts.path, headers=headers)
    answer = connection.getresponse()
    body = answer.read()
    connection.request("HEAD", "/")  # this answer comes after the earlier bytes have been counted
    connection.getresponse().read()
    connection.close()
    return answer, body
