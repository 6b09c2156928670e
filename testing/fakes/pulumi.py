"""A stand-in for Pulumi's CLI on PATH: each command does what a test wrote for it, or nothing.

It stands below Pulumi's Automation API, which is real, as is the guard around each command.
"""

import json
import os
import shlex
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

SCRIPT = """\
#!/bin/sh
here={folder}
if [ "$1" = --non-interactive ]; then shift; fi
case "$1" in
version) echo v3.200.0; exit ;;  # with a newer one, events have a server
stack | config) name="$1-$2" ;;
*) name="$1" ;;
esac
echo "$name" >>"$here/calls"
if [ -e "$here/$name" ]; then . "$here/$name"; fi
"""
UP = """\
while [ "$1" != --event-log ]; do shift; done
cat "$here/events" >>"$2"
if [ -e "$here/while-up" ]; then . "$here/while-up"; fi
if [ -e "$here/locked" ]; then cat "$here/locked" >&2; exit 255; fi
exit {code}
"""
HISTORY = {
    "kind": "update",
    "startTime": "2026-01-02T03:04:05.000Z",
    "message": "",
    "environment": {},
    "config": {},
    "result": "succeeded",
}


class FakePulumi:
    """The stand-in.

    Args:
        folder: The folder in which it is made.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self.path = os.pathsep.join([str(folder / "bin"), os.environ["PATH"]])
        """PATH that begins with its folder."""
        (folder / "bin").mkdir(parents=True)
        tool = folder / "bin" / "pulumi"
        tool.write_text(SCRIPT.format(folder=shlex.quote(str(folder))))
        tool.chmod(0o755)
        self.does("stack-output", "echo '{}'")
        self.exports([])
        self.does("cancel", 'rm "$here/locked"')

    def does(self, command: str, script: str) -> None:
        """Set the script of a command.

        Args:
            command: Its first word, its first two as `stack-output`, or `while-up`, after the events of `up`.
            script: Lines of sh; their words are the command's.
        """
        (self._folder / command).write_text(f"{script}\n")

    def previews(self, printed: str, code: int = 0) -> None:
        """Set the output and exit code of `preview`."""
        self.does("preview", f"{_print(printed)}; exit {code}")

    def updates(self, *events: Mapping[str, Any], changes: Mapping[str, int] | None = None, code: int = 0) -> None:
        """Set the engine events and exit code of `up`, and its changes in the history."""
        lines = (json.dumps({"sequence": 0, "timestamp": 0, **event}) for event in (*events, {"cancelEvent": {}}))
        (self._folder / "events").write_text("".join(f"{line}\n" for line in lines))
        self.does("up", UP.format(code=code))
        self.does("stack-history", _print(json.dumps([HISTORY | {"resourceChanges": changes or {}}])))

    def exports(self, resources: Sequence[Mapping[str, Any]]) -> None:
        """Set the resources of the state."""
        self.does("stack-export", _print(json.dumps({"version": 3, "deployment": {"resources": resources}})))

    def locked(self, text: str) -> None:
        """Set the message with which `up` fails until `cancel`."""
        (self._folder / "locked").write_text(text)

    def calls(self) -> Sequence[str]:
        """Return the commands that were run, in order."""
        calls = self._folder / "calls"
        return calls.read_text().split() if calls.exists() else []


def _print(text: str) -> str:
    return f"printf %s {shlex.quote(text)}"
