"""The body of a refusal, in the form in which sushy reads it.

sushy takes the body of every refusal for an error as DSP0266 has it (section Error responses), and each of its
messages for one with a Severity, which Message 1.1 replaces by MessageSeverity. Of any other body (none, text, a
list, a null) it raises TypeError or AttributeError in place of its HTTPError, and the status is lost.
"""

import json
from http import HTTPStatus
from typing import Any

from requests import Response

EXTENDED = "@Message.ExtendedInfo"


def make_readable(answer: Response) -> None:
    """Give a refusal the body that the standard has, with all that it says. Other answers stay as they are."""
    if answer.status_code >= HTTPStatus.BAD_REQUEST:
        answer._content = json.dumps({"error": _error(answer.content)}).encode()


def _error(body: bytes) -> dict[str, Any]:
    try:
        document = json.loads(body)
    except (ValueError, RecursionError):
        text = body.decode(errors="replace")
        document = "" if text.lstrip().startswith(("<", "{", "[")) else text  # a page or a broken document
    error = document.get("error", document) if isinstance(document, dict) else document
    if not isinstance(error, dict):
        error = {"message": error}
    message, details = error.get("message"), error.get(EXTENDED)
    if isinstance(message, dict):
        message = message.get("value")  # OData 2
    listed = details if isinstance(details, list) else [details]
    code = _text(error.get("code"))
    return {
        **({"code": code} if code else {}),  # without one, sushy has its own
        "message": _text(message) or ("" if details else code),
        EXTENDED: [_detail(detail) for detail in listed if isinstance(detail, dict | str)],
    }


def _detail(said: dict[str, Any] | str) -> dict[str, Any]:
    detail = said if isinstance(said, dict) else {"Message": said}
    words = {
        "MessageId": _text(detail.get("MessageId") or detail.get("MessageID")),  # iLO 4
        "Message": _text(detail.get("Message")),
        "Severity": detail.get("Severity") or detail.get("MessageSeverity") or "Critical",
    }
    return {**detail, **words}


def _text(value: object) -> str:
    return value if isinstance(value, str) else ""
