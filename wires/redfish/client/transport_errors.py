"""Errors of the connection to a BMC that its library does not know."""

from requests.exceptions import RequestException


class AnswerTooLongError(RequestException):
    """An answer that is longer than any Redfish resource."""

    def __init__(self, limit: int) -> None:
        super().__init__(f"its answer is longer than {limit // 1024:,} KiB")


class OutOfReadsError(RequestException):
    """The BMC has had all the requests that it gets, so this one was not sent."""

    def __init__(self, sent: int) -> None:
        super().__init__(f"{sent} requests were sent, and one BMC gets no more")


class OutOfTimeError(RequestException):
    """All answers together took too long, so the request was not sent."""


class RedirectedError(RequestException):
    """The BMC redirects to another server, which gets no password.

    Args:
        server: `https://host[:port]` of the other one.
    """

    def __init__(self, server: str) -> None:
        super().__init__(f"it redirects to {server}")
        self.server = server
