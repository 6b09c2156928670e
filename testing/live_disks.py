"""The script that chooses a disk, run by bash on block devices that lsblk and udevadm only claim to see."""

import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from boot_media.disk import disk_script
from cluster.values.disk_hints import Hints

SETTINGS = "/etc/coreos/installer.d"
URL = "http://192.0.2.1:8080/report"
CONTENTS = "KNAME,PKNAME,TYPE"
FIELDS = "MAJ:MIN,KNAME,TYPE,SIZE,ROTA,MODEL,VENDOR,SERIAL,WWN,HCTL"
PROGRAMS = {
    "lsblk": f"""[[ "$*" != "--pairs --output {CONTENTS} /dev/"* ]] || {{ cat "contents/${{4#/dev/}}"; exit; }}
        [[ "$*" == "--all --bytes --pairs --output {FIELDS}" ]] || exit 1
        echo >>lists; number=$(wc -l <lists)
        [[ ! -e lsblk.$number ]] || mv lsblk.$number lsblk.out; cat lsblk.out""",
    "udevadm": """case "$1 $2" in settle*) exit 1 ;; "info --query=property") cat "udev/${3#--name=/dev/}" ;; esac""",
    "readlink": """[[ "$1 $2" == "-e --" ]] && cat "links/${3//\\//!}" 2>/dev/null""",
    "curl": """[[ $* == *" --max-time 10 "* && $* == *" http://192.0.2.1:8080/report" ]] || exit 3
        while [[ $1 != --data-binary ]]; do shift; done
        echo >>calls; number=$(wc -l <calls); ((number > $(<deaf))) && printf %s "$2" >report""",
    "sleep": "echo $1 >>slept",
    "journalctl": """[[ $* != --sync ]] || exit 1
        [[ "$*" == "--boot --output cat --lines 50 _SYSTEMD_UNIT="*.service ]] && cat journal/${6#*=}""",
    "wipefs": """[[ "$*" != "--parsable --output LABEL,TYPE /dev/"* ]] || { cat "signatures/${4#/dev/}"; exit; }
        echo "wipefs $*" >>wipes""",
    **{name: f'echo "{name} $*" >>wipes' for name in ("mdadm", "dmsetup")},
    "systemctl": 'echo "$*" >>systemctl.calls',
}


@dataclass(frozen=True)
class Part:
    """A block device on another one, as lsblk and wipefs describe it."""

    kname: str
    parent: str
    kind: str = "part"
    file_system: str = ""
    label: str = ""

    @property
    def line(self) -> str:
        """The line of lsblk."""
        return _line(CONTENTS, (self.kname, self.parent, self.kind))

    @property
    def signatures(self) -> str:
        """What wipefs says of it (util-linux 2.38); nothing without any."""
        return f"# label,type\n{self.label},{self.file_system}\n" if self.file_system else ""


@dataclass(frozen=True)
class Device:
    """A block device, as lsblk and udevadm describe it."""

    number: tuple[int, int]
    kname: str
    size: int
    kind: str = "disk"
    rotational: bool = False
    model: str = ""
    vendor: str = ""
    serial: str = ""
    wwn: str = ""
    hctl: str = ""
    udev: Mapping[str, str] = field(default_factory=dict)
    file_system: str = ""
    label: str = ""
    parts: Sequence[Part] = ()
    """What is on it, parents first."""

    @property
    def path(self) -> str:
        """Its device node."""
        return f"/dev/{self.kname}"

    @property
    def line(self) -> str:
        """The line of lsblk, in which it writes as hex what a shell would not take as it is."""
        number = ":".join(map(str, self.number))
        values = [number, self.kname, self.kind, str(self.size), str(int(self.rotational))]
        return _line(FIELDS, [*values, self.model, self.vendor, self.serial, self.wwn, self.hctl])

    @property
    def contents(self) -> tuple[Part, ...]:
        """Itself, and what is on it."""
        return (Part(self.kname, "", self.kind, self.file_system, self.label), *self.parts)


@dataclass(frozen=True)
class Run:
    """What came of a run."""

    code: int
    console: str
    settings: str
    """What coreos-installer reads; empty if nothing."""
    report: str
    """What reached the provisioner; empty if nothing."""
    calls: int
    """Attempts to reach it."""
    slept: tuple[str, ...]
    """The pauses, in seconds."""
    wipes: tuple[str, ...]
    """The calls that stop what runs on a disk, or erase signatures."""


def write_script(
    folder: Path,
    devices: Sequence[Device],
    hints: Hints,
    *,
    url: str = URL,
    wipe_disks: Sequence[str] = (),
    links: Mapping[str, str] | None = None,
    late: Mapping[int, Sequence[Device]] | None = None,
    deaf: int = 0,
    attempts: int = 10,
    journal: str = "",
) -> None:
    """Write the script and what it runs and reads.

    Args:
        folder: An empty one.
        devices: What lsblk lists, in its order.
        hints: Those of the host.
        url: The URL for the report. To any other than the default, the real curl sends it.
        wipe_disks: Serial numbers or WWNs of stale disks that it may wipe.
        links: Device node by link.
        late: What lsblk lists instead, from that attempt on.
        deaf: Number of attempts that do not reach the provisioner.
        attempts: How often the script lists the disks before it refuses.
        journal: What coreos-installer has said.
    """
    for name in ("bin", "udev", "links", "contents", "signatures", "installer.d"):
        (folder / name).mkdir()
    for name, text in PROGRAMS.items():
        if name == "curl" and url != URL:
            continue
        (folder / "bin" / name).write_text(f"#!/bin/bash\n{text}\n")
        (folder / "bin" / name).chmod(0o755)
    (folder / "deaf").write_text(f"{deaf}\n")
    (folder / "journal").mkdir()
    (folder / "journal" / "coreos-installer.service").write_text(journal)
    (folder / "journal" / "disk.sh.service").write_text("what the script said\n")
    (folder / "lsblk.out").write_text("".join(device.line for device in devices))
    for attempt, listed in (late or {}).items():
        (folder / f"lsblk.{attempt}").write_text("".join(device.line for device in listed))
    for device in [*devices, *(device for listed in (late or {}).values() for device in listed)]:
        properties = "".join(f"{key}={value}\n" for key, value in device.udev.items())
        (folder / "udev" / device.kname).write_text(f"DEVNAME={device.path}\n{properties}SUBSYSTEM=block\n")
        (folder / "links" / device.path.replace("/", "!")).write_text(device.path)
        (folder / "contents" / device.kname).write_text("".join(part.line for part in device.contents))
        for part in device.contents:
            (folder / "signatures" / part.kname).write_text(part.signatures)
    for link, target in (links or {}).items():
        (folder / "links" / link.replace("/", "!")).write_text(target)
    script = disk_script(hints, url, wipe_disks)
    for wanted in (SETTINGS, "{1..10}"):
        assert script.count(wanted) == 1
    script = script.replace(SETTINGS, str(folder / "installer.d")).replace("{1..10}", f"{{1..{attempts}}}")
    (folder / "disk.sh").write_text(script)


def run_script(
    folder: Path, devices: Sequence[Device], hints: Hints, *words: str, result: str = "exit-code", **options: Any
) -> Run:
    """Run the script to its end, also what it leaves in the background.

    Args:
        words: The script's arguments.
        result: What systemd says of coreos-installer after it. All others are those of `write_script`.
    """
    write_script(folder, devices, hints, **options)
    done = subprocess.run(
        ["bash", "disk.sh", *words],
        cwd=folder,
        env={**environment(folder), "SERVICE_RESULT": result},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.stderr == ""
    settings = {path.name: path.read_text() for path in (folder / "installer.d").iterdir()}
    assert settings.keys() <= {"9000-disk.yaml"}
    lines = {name: _read(folder / name).splitlines() for name in ("calls", "slept", "wipes")}
    return Run(
        done.returncode,
        done.stdout,
        "".join(settings.values()),
        _read(folder / "report"),
        len(lines["calls"]),
        (*lines["slept"],),
        (*lines["wipes"],),
    )


def environment(folder: Path) -> dict[str, str]:
    """Return the environment in which the script finds the programs of `folder`."""
    return {"PATH": f"{folder / 'bin'}:/usr/bin:/bin:/usr/sbin:/sbin"}


def _read(path: Path) -> str:
    return path.read_text(errors="surrogateescape") if path.exists() else ""


def _line(fields: str, values: Sequence[str]) -> str:
    pairs = zip(fields.split(","), values, strict=True)
    return " ".join(f'{name}="{_quoted(value)}"' for name, value in pairs) + "\n"


def _quoted(value: str) -> str:
    return "".join(f"\\x{ord(char):02x}" if char in '"\\`$' or not char.isprintable() else char for char in value)
