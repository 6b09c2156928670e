"""The script that chooses a host's disk on its live system, by the rules of the installer's own provisioning.

The installer hands `rootDeviceHints` to metal3, and metal3 to ironic, whose agent chooses on the server itself. The
rules, with the sources in which they were read, 2026-08:

- Model and vendor are contained in the disk's, the size is at least the hint's, all others are equal; all hints must
  fit (metal3 baremetal-operator, pkg/provisioner/ironic/devicehints/devicehints.go).
- Capitals and spaces around do not matter. Sizes are in GiB. One of several serial numbers or WWNs suffices. The
  first disk that fits is taken (ironic-python-agent, device_hints.py).
- Candidates are disks, RAID and multipath devices, in the order of their device numbers; no RAM disks, floppies,
  empty drives or paths of a multipath device (ironic-python-agent, hardware.py: list_all_block_devices; util-linux,
  lsblk.c, for the order).
- It lists them ten times, three seconds apart (ironic-python-agent, config.py: disk_wait_attempts, disk_wait_delay).
- Without hints it takes /dev/sda (baremetal-operator, apis/metal3.io/v1alpha1/profile/profile.go); where metal3 has
  no default, the smallest of at least 4 GiB, then the first by name (ironic-python-agent, utils.py:
  guess_root_disk). Here: /dev/sda if it has 4 GiB, else the latter.

docs/adr/0032-the-disk-is-chosen-on-the-live-system.md has what differs from them, and
docs/adr/0066-a-stale-disk-is-refused-or-wiped.md what else must not be on the disks.
"""

import shlex
from collections.abc import Sequence
from pathlib import Path
from shlex import quote
from typing import Any

from base.writes import Write
from cluster.values.disk_hints import Hints, as_compared, in_words

SCRIPT_NAME = "disk.sh"
CHOSEN, REFUSED, STALE, FAILED = "chosen", "refused", "stale", "failed"
"""The first word of the report that the script sends: of the disk, or of coreos-installer."""
LONGEST_REPORT = 16_000
"""Bytes of a report; the script cuts the rest."""
AFTER_INSTALLER = f"[Service]\nExecStopPost=-/usr/local/bin/pre-install-{SCRIPT_NAME} ended\n"
"""Drop-in of coreos-installer.service: the script runs once more, to send why coreos-installer failed, if it did.

coreos-installer 0.27 puts a `--pre-install` script at that path (src/live/customize.rs). `OnFailure=` would come too
late: with emergency.target, systemd stops the network and whatever else needs sysinit.target.
"""
LIVE_CONFIG: dict[str, Any] = {
    "ignition": {"version": "3.0.0"},
    "systemd": {
        "units": [
            {
                "name": "coreos-installer.service",
                "dropins": [{"name": "okd-baremetal.conf", "contents": AFTER_INSTALLER}],
            }
        ]
    },
}
"""Ignition config of the live system, beside what coreos-installer puts there."""
SCRIPT = Path(__file__).with_name(SCRIPT_NAME).read_text()


def disk_script(hints: Hints, report_url: str, wipe_disks: Sequence[str] = ()) -> str:
    """Return the script for a host.

    Args:
        hints: Its hints.
        report_url: URL to which the script sends its report; if empty, only the console shows it.
        wipe_disks: Serial numbers or WWNs of the disks that it wipes if they are stale.
    """
    shebang, _, body = SCRIPT.partition("\n")
    pairs = " ".join(f"[{name}]={quote(value)}" for name, value in hints.items())
    given = {"hints": quote(in_words(hints)), "wipe_disks": f"({shlex.join(wipe_disks)})", "url": quote(report_url)}
    lines = "".join(f"{name}={value}\n" for name, value in given.items())
    return f"{shebang}\ndeclare -A wanted=({pairs})\n{lines}{body}"


def wipe(host: str, hints: Hints) -> Write:
    """Return the write to a host's disk that begins when its boot ISO is made and served."""
    return Write(f"disk of {host}", f"wipe the one by {in_words(as_compared(hints))}")


def wipe_stale(host: str, disk: str) -> Write:
    """Return the write to another disk of a host, by serial number or WWN, that begins at the same time."""
    return Write(f"disk of {host}", f"wipe {disk} too, if it is stale")
