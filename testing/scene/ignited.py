"""Apply an Ignition config to a machine in a namespace: its files, and its units, by a script in place of systemd."""

import json
from pathlib import Path
from typing import Any

from testing.ignition_configs import configs, content
from testing.scene.machine import Machine

FOLDERS = {"/usr/local/bin/": "bin", "/etc/": "etc", "/opt/": "opt", "/var/lib/": "lib"}
"""The machine's own folders, and their paths below its folder of the test."""
UNIT = """
cd "$2"
if [[ $9 ]]; then set -a && source "$9" && set +a; fi
for before in $6; do until [[ -e /run/$before.ready ]]; do sleep 0.1; done; done
if [[ $7 == notify ]]; then
    export NOTIFY_SOCKET=/run/$1.notify
    python3 -c "$8" "$NOTIFY_SOCKET" "/run/$1.ready" &
fi
until [[ -e /run/$1.stopped ]]; do
    if bash -c "$3"; then
        bash -c "exec $4" &
        echo $! >"/run/$1.pid"
        if wait $! && [[ $5 == on-failure ]]; then exit; fi
    fi
    sleep 1
done"""
AWAIT_READY = """
import pathlib, socket, sys
with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as own:
    own.bind(sys.argv[1])
    while own.recv(4096) != b"READY=1":
        pass
pathlib.Path(sys.argv[2]).touch()
"""
SYSTEMCTL = """#!/usr/bin/env bash
[[ "$1 $2" == "stop --no-block" ]] || exit 1
for unit in "${@:3}"; do
    touch "/run/$unit.stopped"
    kill "$(<"/run/$unit.pid")"
done
"""


def ignite(machine: Machine, config: str, units: str) -> None:
    """Write the files of a config, and start its units whose names begin with `units`."""
    (machine.folder / "opt").mkdir()
    machine.run("mount", "--bind", machine.folder / "opt", "/opt")
    parts = [json.loads(text) for text in configs(config)]
    for part in parts:
        for file in part.get("storage", {}).get("files", ()):
            _write(machine.folder, file)
    _write_text(machine.folder / "bin/systemctl", SYSTEMCTL)
    start_units(machine, config, units)


def start_units(machine: Machine, config: str, units: str) -> None:
    """Start the units of a config whose names begin with `units`, also those that `systemctl stop` has ended."""
    parts = [json.loads(text) for text in configs(config)]
    listed = [unit for part in parts for unit in part.get("systemd", {}).get("units", ())]
    texts = {unit["name"]: unit["contents"] for unit in listed if unit["name"].startswith(units)}
    notifying = {name for name, text in texts.items() if _values(text).get("Type") == "notify"}
    for name, text in texts.items():
        (machine.folder / f"run/{name}.stopped").unlink(missing_ok=True)
        _start(machine, name, text, notifying)


def _write(folder: Path, file: dict[str, Any]) -> None:
    for begin, own in FOLDERS.items():
        if file["path"].startswith(begin):
            target = folder / own / file["path"].removeprefix(begin)
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes(content(file["contents"]))
            target.chmod(file["mode"])


def _write_text(path: Path, text: str) -> None:
    path.write_text(text)
    path.chmod(0o755)


def _start(machine: Machine, name: str, text: str, notifying: set[str]) -> None:
    values = _values(text)
    command = (
        values.get("WorkingDirectory", "/"),
        values.get("ExecStartPre", "true"),
        values["ExecStart"],
        values["Restart"],
    )
    after = " ".join(sorted(notifying & {*values.get("After", "").split()}))
    notification = (after, values.get("Type", ""), AWAIT_READY, values.get("EnvironmentFile", ""))
    machine.start(name, "bash", "-c", UNIT, name, name, *command, *notification)


def _values(text: str) -> dict[str, str]:
    lines = text.replace("\\\n", " ").splitlines()
    return dict(line.split("=", 1) for line in lines if "=" in line and not line.startswith("#"))
