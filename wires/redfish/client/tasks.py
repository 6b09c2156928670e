"""The task that a BMC starts when it answers a write with 202 (DSP0266, section Tasks): its path, and its end."""

from dataclasses import dataclass
from http import HTTPStatus
from typing import Any, Self
from urllib.parse import urlsplit

from requests import Response

FAILED = frozenset({"Exception", "Killed", "Cancelled", "Failed", "CompletedWithErrors", "RebootFailed"})
"""The words of a Task's TaskState (DSP2046), or of the JobState of one of Dell's jobs, with which it has failed."""
COMPLETED, CRITICAL, OK = "Completed", "Critical", "OK"


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
        state: Its state in its own word; empty if it has none.
        failure: How it has failed; empty if it has not.
        said: Its messages, if it has failed.
    """

    is_over: bool
    state: str = ""
    failure: str = ""
    said: tuple[dict[str, Any], ...] = ()

    @classmethod
    def of(cls, answer: Response) -> Self:
        """Read an answer. A monitor answers 202 while the task runs, then as the request itself would have been."""
        document = document_of(answer)
        state = document.get("TaskState") or document.get("JobState") or ""
        status = document.get("TaskStatus") or ""
        if not state:
            return cls(is_over=answer.status_code != HTTPStatus.ACCEPTED)
        if state in FAILED or (state == COMPLETED and status == CRITICAL):
            return cls(is_over=True, state=state, failure=f"{state} {status}".strip(), said=_messages(document))
        return cls(is_over=state == COMPLETED, state=state)


def _messages(task: dict[str, Any]) -> tuple[dict[str, Any], ...]:
    """Return the messages that are not OK, else all. One of Dell's jobs is its only message itself."""
    listed = [message for message in task.get("Messages") or () if isinstance(message, dict)]
    bad = [message for message in listed if OK not in (message.get("Severity"), message.get("MessageSeverity"))]
    return tuple(bad or listed or [task])


def document_of(answer: Response) -> dict[str, Any]:
    """Return the JSON object in an answer; empty if there is none."""
    try:
        document = answer.json()
    except (ValueError, RecursionError):
        return {}
    return document if isinstance(document, dict) else {}
