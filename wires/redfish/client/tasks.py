"""The task that a BMC starts when it answers a write with 202 (DSP0266, section Tasks): its path, and its end."""

from dataclasses import dataclass
from http import HTTPStatus
from typing import Any, Self
from urllib.parse import urlsplit

from requests import Response

FAILED = frozenset({"Exception", "Killed", "Cancelled"})
"""The words of a Task's TaskState (DSP2046) with which it has failed, whatever its TaskStatus."""
COMPLETED, CRITICAL = "Completed", "Critical"


def task_path(answer: Response) -> str:
    """Return the path of the task that an answer names: its monitor, else the Task itself; empty if none."""
    if answer.status_code != HTTPStatus.ACCEPTED:
        return ""
    return urlsplit(answer.headers.get("Location") or document_of(answer).get("@odata.id") or "").path


@dataclass(frozen=True)
class TaskResult:
    """What a task, or its monitor, says.

    Args:
        is_over: Whether it has ended.
        failure: How it has failed; empty if it has not.
        said: Its messages, if it has failed.
    """

    is_over: bool
    failure: str = ""
    said: tuple[dict[str, Any], ...] = ()

    @classmethod
    def of(cls, answer: Response) -> Self:
        """Read an answer. A monitor answers 202 while the task runs, then as the request itself would have been."""
        document = document_of(answer)
        state, status = document.get("TaskState") or "", document.get("TaskStatus") or ""
        if not state:
            return cls(is_over=answer.status_code != HTTPStatus.ACCEPTED)
        if state in FAILED or (state == COMPLETED and status == CRITICAL):
            said = tuple(message for message in document.get("Messages") or () if isinstance(message, dict))
            return cls(is_over=True, failure=f"{state} {status}".strip(), said=said)
        return cls(is_over=state == COMPLETED)


def document_of(answer: Response) -> dict[str, Any]:
    """Return the JSON object in an answer; empty if there is none."""
    try:
        document = answer.json()
    except ValueError:
        return {}
    return document if isinstance(document, dict) else {}
