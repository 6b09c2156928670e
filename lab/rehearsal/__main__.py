"""Rehearse a whole installation on virtual machines, as root; KEEP=1 leaves the cluster running.

`python -m lab.rehearsal` installs a cluster, takes it to production and destroys it. With the word `kubernetes`, the
API of that cluster is a real one. With the word `faults`, it goes to production through all faults on the way.
"""

import hashlib
import os
import sys
import time
from collections.abc import Sequence
from pathlib import Path

from boot_media.keyfiles import keyfiles_of
from cluster.options import read_stack_file
from cluster.plan import ClusterPlan, load_plan
from lab import site
from lab.binaries import GUEST_PROGRAMS, KUBERNETES
from lab.images import Images, ensure_images
from lab.inventory import STACK, load_site
from lab.payload import make_kubernetes_payload, make_payload, write_payload
from lab.rehearsal.faults import Faults, ignore_power_button
from lab.rehearsal.own_address import give_own_address
from lab.rehearsal.provisioner import Provisioner, inside_the_site, keep_note
from lab.rehearsal.report import RehearsalError, Report, say
from lab.rehearsal.stack import Stack
from lab.rehearsal.steps import PAYLOAD, Rehearsal
from lab.shell import LabError

PROJECT = Path("/var/lib/okd-lab/operator/project")
CONSOLE_LINES = 20
# An API server is ready after 23 s, where etcd takes 2, in 768 MiB (emulated, alone, 2026-11).
ROOM_FOR_KUBERNETES = {"bootstrap": {"memory_mib": 1024}, "deadlines": {"bootstrap_s": 300, "host_s": 600}}


def main(arguments: Sequence[str]) -> int:
    """Run one rehearsal; return 0, 1 if a step or a proof fails, or 2 for any other argument than these two."""
    if arguments not in ([], ["faults"], [KUBERNETES]):
        say(f"usage: python -m lab.rehearsal [faults|{KUBERNETES}]")
        return 2
    rehearse = _faults if arguments == ["faults"] else _whole
    keep = bool(os.environ.get("KEEP"))
    report = Report()
    failed = True
    try:
        images = _lab_up(report, (*GUEST_PROGRAMS, KUBERNETES) if KUBERNETES in arguments else GUEST_PROGRAMS)
        with inside_the_site():
            rehearse(_prepared(report, images, arguments), keep=keep)
        failed = False
    except (RehearsalError, LabError) as error:
        say(f"\nFAILED: {error}")
        _consoles(f"{error.machine} {error}" if isinstance(error, RehearsalError) else str(error))
    finally:
        Stack(PROJECT).kill()
        if keep:
            say(f"\n{keep_note()}")
        else:
            with report.step("lab down"):
                site.down(say)
    report.close()
    return int(failed)


def _lab_up(report: Report, programs: Sequence[str]) -> Images:
    with report.step("images"):
        images = ensure_images(say, programs)
    with report.step("lab up"):
        site.down(say)
        site.up(images, say)
        status = site.status()
        off = sum(power == "Off" for power in status.power.values())
        report.prove("servers are off, and no other machine", wanted="5 of 5", seen=f"{off} of {len(status.power)}")
    return images


def _prepared(report: Report, images: Images, arguments: Sequence[str]) -> Rehearsal:
    stack = Stack(PROJECT)
    with report.step("payload and stack"):
        stack.prepare()
        wanted = load_site()
        give_own_address(stack, wanted.plan)
        payload = PROJECT / "stacks" / STACK / "payload"
        if KUBERNETES in arguments:
            write_payload(make_kubernetes_payload(wanted), payload)
            stack.configure(**ROOM_FOR_KUBERNETES)
        else:
            write_payload(make_payload(wanted), payload)
        if "faults" in arguments:
            ignore_power_button(payload / "bootstrap.ign")
        digests = {name: hashlib.sha256((payload / f"{name}.ign").read_bytes()).hexdigest() for name in PAYLOAD}
        with images.base_volume.open("rb") as volume:
            base = {"base_sha256": hashlib.file_digest(volume, "sha256").hexdigest()}
        media = {"base_iso": {"sha256": images.iso_sha256}}
        release = {"release": images.release}
        stack.configure(payload=digests, bmc_ca=site.bmc_ca(), bootstrap=base, media=media, images=release)
        began = time.monotonic()
        stack.preview()
        report.measure("preview of 3+2 servers, s", goal="under 3", seen=f"{time.monotonic() - began:.1f}")
    plan = _plan(PROJECT)
    return Rehearsal(Provisioner(plan, images), stack, plan, report)


def _whole(rehearsal: Rehearsal, *, keep: bool) -> None:
    rehearsal.preflight()
    rehearsal.refusals()
    rehearsal.bootstrap()
    rehearsal.preview()
    rehearsal.refusal()
    rehearsal.production()
    rehearsal.nothing_changes()
    rehearsal.secrets()
    if not keep:
        rehearsal.provisioner_away()
        rehearsal.destroy()


def _faults(rehearsal: Rehearsal, *, keep: bool) -> None:
    Faults(rehearsal.provisioner, rehearsal.stack, rehearsal.proofs, rehearsal.report).run()
    if not keep:
        rehearsal.stack.run("destroy", "--yes", "--skip-preview")


def _plan(project: Path) -> ClusterPlan:
    """Load the plan as the program does, from the same two files."""
    options = read_stack_file(project / "stacks" / f"Pulumi.{STACK}.yaml")
    return load_plan(project / "stacks" / STACK / "install-config.yaml", options, keyfiles_of)


def _consoles(text: str) -> None:
    """Print the last console lines of the machines that an error names last: the reason is at its end."""
    names = [name for name in load_site().names if name in text]
    for name in sorted(names, key=text.rfind)[-2:]:
        say(f"\nthe last {CONSOLE_LINES} console lines of {name}:")
        for line in site.console_tail(name, CONSOLE_LINES):
            say(f"    {line}")


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
