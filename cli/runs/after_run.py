"""Follows an `up`, `refresh` or `destroy`: once the Pulumi CLI has ended, draws the report and sends the notice.

`providers.pulumi.run_follower` starts it in the project's root, with the run's log and a descriptor of the CLI.
"""

import json
import select
import sys
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass
from datetime import datetime
from pathlib import Path

from base import log as run_log
from base.errors import ConfigError, word
from base.log_entries import Action, Event, entries_of
from base.log_file import begun_at
from cli.runs import report
from cli.runs.timeline import timelines_of
from cli.shared.command_line import stack_file
from cli.shared.stack_options import pulumi, stack_options
from cluster.stack_file import NOTIFY_URL, read_options
from cluster.values.phase import Phase
from wires.web_hook import send

RETRIES = 5
"""They take half a minute, besides the web hook's own time."""
COMMANDS = {"update": "up"}
"""The names of commands in Pulumi's history that are not their own."""
SUCCEEDED, KILLED = "succeeded", "killed"


@dataclass(frozen=True)
class Notice:
    """What a web hook is sent about a run. It has no error's text: who reads a web hook may not read that.

    Args:
        command: `up`, `refresh` or `destroy`; `run` of a killed one, which is in no history.
        result: `succeeded`, `failed` or `killed`.
        seconds: From the run's first work on.
        failed: The machines, or resources without one, that have an error; none if the run succeeded all the same.
        next: What a person does next; empty if nothing waits.
    """

    stack: str
    command: str
    result: str
    seconds: int
    failed: Sequence[str]
    next: str

    @property
    def text(self) -> str:
        """A line for a chat."""
        names = f" at {', '.join(self.failed)}" if self.failed else ""
        then = f". Next: {self.next}" if self.next else ""
        return f"{self.stack}: {self.command} {self.result} after {self.seconds} s{names}{then}"


def follow(log: Path, cli: int) -> None:
    """Wait for the end of the CLI, draw the report, and send the notice if the stack has a web hook.

    Args:
        log: Of the run.
        cli: A descriptor of the CLI's process (`pidfd_open`).
    """
    select.select([cli], [], [])
    stack = log.parent.name
    with suppress(ConfigError):
        report.write(stack, log)
        if NOTIFY_URL in read_options(stack_file(stack)):
            sent = _sent(stack, log)
            run_log.opened(log)
            run_log.line(Event.NOTICE, sent)
            run_log.close()


def _sent(stack: str, log: Path) -> str:
    """Send the notice, and return what became of it."""
    try:
        options = stack_options(stack)
        notice = _notice(stack, log, Phase(options.get("phase", Phase.BOOTSTRAP)))
        if notice.result == KILLED and not _changes(log):
            return "not sent: a preview, or a refresh that was killed"
        send(str(options[NOTIFY_URL]).strip(), {"text": notice.text, **asdict(notice)}, retries=RETRIES)
    except (ConfigError, OSError) as error:
        return f"not sent: {error}"
    return f"sent: {notice.text}"


def _changes(log: Path) -> bool:
    """Return whether the run did more than read; a preview that refreshes is in no history, either."""
    return any(entry.event == Event.BEGIN and entry.step != Action.READ for entry in entries_of(log))


def _notice(stack: str, log: Path, phase: Phase) -> Notice:
    timelines = timelines_of(entries_of(log))
    command, result = _end(stack, log)
    end_s = max((span.end_s for timeline in timelines for span in timeline.spans), default=0.0)
    failed = [timeline.name for timeline in timelines if timeline.errors and result != SUCCEEDED]
    return Notice(stack, command, result, round(end_s), failed, _next(command, result, stack, phase))


def _end(stack: str, log: Path) -> tuple[str, str]:
    """Return command and result of the run, as Pulumi's history has them. A killed run is not there."""
    begun_s = int(begun_at(log).timestamp())  # the history has whole seconds
    for newest in json.loads(pulumi(stack, "stack", "history", "--json", "--page-size", "1")):
        if datetime.fromisoformat(newest["endTime"]).timestamp() >= begun_s:
            return COMMANDS.get(newest["kind"], newest["kind"]), newest["result"]
    return "run", KILLED


def _next(command: str, result: str, stack: str, phase: Phase) -> str:
    if result == SUCCEEDED:
        is_first = (command, phase) == ("up", Phase.BOOTSTRAP)
        return "`pulumi config set phase production`, then `pulumi up`" if is_first else ""
    cancels = ", `pulumi cancel`" if result == KILLED else ""
    return f"`okd-baremetal log {word(stack)}`{cancels}, then `pulumi up`"


if __name__ == "__main__":
    follow(Path(sys.argv[1]), int(sys.argv[2]))
