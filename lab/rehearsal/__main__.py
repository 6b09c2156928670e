"""Rehearse a whole installation on virtual machines, as root; KEEP=1 leaves the cluster running.

`python -m lab.rehearsal` installs the twin of a stack, takes it to production and destroys it. With the argument
`faults`, it causes every fault during the move to production. With `--payload kubernetes`, and always on platform
baremetal, for a control plane of one and with fencing, the cluster has a real Kubernetes API.
"""

import argparse
import hashlib
import os
import sys
import time
from collections.abc import Sequence
from contextlib import nullcontext

from cluster.plan import Intent, Role
from lab import site
from lab.binaries import GUEST_PROGRAMS, KUBERNETES
from lab.images import Images, ensure_images
from lab.inventory import STACK, Site, fitting, free_mib, load_site
from lab.paths import PROJECT
from lab.payload import make_kubernetes_payload, make_payload, write_payload
from lab.rehearsal.drills import Drills
from lab.rehearsal.evidence import errors_of, keep_evidence
from lab.rehearsal.faults import Faults, ignore_power_button
from lab.rehearsal.fencing import FencingProofs
from lab.rehearsal.growing import Growing
from lab.rehearsal.kube import Operator
from lab.rehearsal.one_to_three import OneToThree
from lab.rehearsal.proofs import Proofs
from lab.rehearsal.provisioner import Provisioner, inside_the_site, note_on_kept_lab, without_weighed_sessions
from lab.rehearsal.replacement import Replacements
from lab.rehearsal.report import RehearsalError, Report, say
from lab.rehearsal.shrinking import Shrinking
from lab.rehearsal.sleeping import Sleeping
from lab.rehearsal.stack import Stack
from lab.rehearsal.steps import Rehearsal
from lab.shell import LabError
from lab.site.network import namespace_exists
from testing.processes import accept_interrupts

CONSOLE_LINES = 20
WHOLE, FAULTS = "whole", "faults"
STAND_IN = "stand-in"
# An API server that runs by itself becomes ready in 768 MiB (emulated, 2026-11).
KUBERNETES_BOOTSTRAP = {"bootstrap": {"memory_mib": 1024}}


def main(arguments: list[str] | None = None) -> int:
    """Run one rehearsal; return 0, or 1 if a step or a proof fails."""
    options = _parser().parse_args(arguments)
    accept_interrupts()
    try:
        wanted = load_site(options.stack)
        if wanted.has_balancer and (options.scenario, options.payload) != (WHOLE, STAND_IN):
            what = f"{options.scenario} with payload {options.payload}"
            raise LabError(f"{what}: needs VIPs on the cluster's machines. Fix: name a stack without a balancer")
        with site.reserved():
            site.refuse_another(options.stack)
            site.down(say)  # frees the memory of its machines
            return _rehearse(fitting(wanted, free_mib()), options)
    except LabError as error:
        say(f"FAILED: {error}")
        return 2


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m lab.rehearsal", description="Rehearse a stack on its twin.")
    parser.add_argument("scenario", nargs="?", choices=(WHOLE, FAULTS), default=WHOLE)
    parser.add_argument(
        "--stack", default=STACK, metavar="STACK", help="the stack to rehearse (default: %(default)s)"
    )
    parser.add_argument(
        "--payload", choices=(STAND_IN, KUBERNETES), default=STAND_IN, help="its API (default: %(default)s)"
    )
    parser.add_argument(
        "--drills",
        type=int,
        default=1,
        metavar="N",
        help="servers to lose, with Kubernetes; 0: no drills, and none of growth (default: %(default)s)",
    )
    parser.add_argument(
        "--seed", type=int, default=0, metavar="N", help="chooses all but the first of them (default: %(default)s)"
    )
    return parser


def _rehearse(wanted: Site, options: argparse.Namespace) -> int:
    scenario, payload = options.scenario, options.payload
    keep, stack = bool(os.environ.get("KEEP")), Stack(PROJECT, wanted.twin.stack)
    parts = [wanted.twin.stack, *(word for word in (scenario, payload) if word not in (WHOLE, STAND_IN))]
    report = Report("-".join(parts), wanted.twin.differences)
    failed = "interrupted"
    for difference in wanted.twin.differences:
        say(f"the twin differs: {difference}")
    try:
        kubernetes = payload == KUBERNETES or wanted.api_is_real
        programs = (*GUEST_PROGRAMS, KUBERNETES) if kubernetes else GUEST_PROGRAMS
        images = _lab_up(report, wanted, programs)
        if keep:
            site.keep()
        with without_weighed_sessions(), inside_the_site():
            prepared = _prepared(report, wanted, images, scenario, kubernetes=kubernetes)
            if scenario == FAULTS:
                _run_faults(prepared, keep=keep)
            else:
                _run_whole(prepared, options, keep=keep)
        failed = ""
    except (RehearsalError, LabError) as error:
        failed = str(error)
        say(f"\nFAILED: {error}")
        _consoles(wanted, f"{error.machine} {error}" if isinstance(error, RehearsalError) else str(error))
    finally:
        stack.kill()
        is_there = namespace_exists()  # else the consoles are an earlier rehearsal's
        keep_evidence(report, stack, wanted.names if is_there else ())
        report.errors = errors_of(stack) if failed else []
        if keep and is_there:
            say(f"\n{note_on_kept_lab(wanted.plan, failed=bool(failed))}")
        else:
            with report.step("lab down"):
                site.down(say)
        report.close(failed=failed)
    return int(bool(failed))


def _lab_up(report: Report, wanted: Site, programs: Sequence[str]) -> Images:
    with report.step("images"):
        images = ensure_images(say, programs)
    with report.step("lab up"):
        site.up(wanted, images, say)
        status = site.status()
        off, servers = sum(power == "Off" for power in status.power.values()), len(wanted.plan.hosts)
        what = "servers are off, and no other machine"
        report.prove(what, wanted=f"{servers} of {servers}", seen=f"{off} of {len(status.power)}")
    return images


def _prepared(report: Report, wanted: Site, images: Images, scenario: str, *, kubernetes: bool) -> Rehearsal:
    stack = Stack(PROJECT, wanted.twin.stack)
    with report.step("payload and stack"):
        stack.prepare(wanted.twin.with_bmc_ca(site.bmc_ca()))
        folder = PROJECT / "stacks" / stack.name / "payload"
        if kubernetes:
            write_payload(make_kubernetes_payload(wanted), folder)
            stack.configure(**KUBERNETES_BOOTSTRAP)
        else:
            write_payload(make_payload(wanted), folder)
        if scenario == FAULTS:
            ignore_power_button(folder / "bootstrap.ign")
        files = {name: folder / f"{name}.ign" for name in wanted.plan.payload_files}
        digests = {name: hashlib.sha256(file.read_bytes()).hexdigest() for name, file in files.items()}
        with images.base_volume.open("rb") as volume:
            base = {"base_sha256": hashlib.file_digest(volume, "sha256").hexdigest()}
        media = {"base_iso": {"sha256": images.iso_sha256}}
        release = {"release": images.release}
        stack.configure(payload=digests, bootstrap=base, media=media, images=release)
        began = time.monotonic()
        stack.preview()
        what = f"preview of {len(wanted.plan.control_plane)}+{len(wanted.plan.compute)} servers, s"
        report.measure(what, goal="under 3", seen=f"{time.monotonic() - began:.1f}")
    plan = stack.plan()
    return Rehearsal(Provisioner(plan, wanted, images), stack, plan, report, wanted)


def _run_whole(rehearsal: Rehearsal, options: argparse.Namespace, *, keep: bool) -> None:
    rehearsal.record_settings()
    if rehearsal.stack.name == STACK and not rehearsal.operator:  # these do not depend on the cluster
        rehearsal.preflight_refuses()
        rehearsal.mistakes_are_refused()
    rehearsal.network_boot.refuses_foreign_dhcp()
    rehearsal.bootstrap()
    rehearsal.preview()
    rehearsal.gate_refuses()
    if pair := _pair(rehearsal):
        pair.gate_waits()
    rehearsal.production()
    rehearsal.nothing_changes()
    if rehearsal.objects:
        rehearsal.objects.are_repaired()
    rehearsal.secrets()
    if rehearsal.stack.name == STACK:
        _drill(rehearsal, options)
    elif rehearsal.operator and options.drills and _grows_from_one(rehearsal.plan):
        OneToThree(*_parts(rehearsal, rehearsal.operator)).run()
        rehearsal.plan = rehearsal.stack.plan()
    if not keep:
        rehearsal.serves_without_provisioner()
        rehearsal.network_boot.reboots_from_disk()
        rehearsal.mistaken_destroy_is_refused()
        with pair.fences() if pair else nullcontext():
            rehearsal.destroy()
    if rehearsal.objects:
        rehearsal.objects.touched_no_server()


def _drill(rehearsal: Rehearsal, options: argparse.Namespace) -> None:
    """Run the drills of a cluster in production; a real Kubernetes has those of its servers."""
    if not rehearsal.operator:
        Drills(rehearsal.stack, rehearsal.plan, rehearsal.report, rehearsal.wanted).run()
    elif options.drills:
        Replacements(*_parts(rehearsal, rehearsal.operator)).run(options.drills, options.seed)
        rehearsal.plan = rehearsal.stack.plan()  # a server may have another board now
        parts = _parts(rehearsal, rehearsal.operator)
        Shrinking(*parts).run()
        Growing(*parts).run(rehearsal.wanted.twin)
        Sleeping(*parts).run()


def _grows_from_one(plan: Intent) -> bool:
    """Return whether a control plane of one has the two planned spares that make it one of three."""
    return (len(plan.control_plane), len(plan.claimants(Role.CONTROL_PLANE))) == (1, 3)


def _parts(rehearsal: Rehearsal, operator: Operator) -> tuple[Provisioner, Stack, Proofs, Operator, Report]:
    """Return what a drill of a cluster with a real Kubernetes needs."""
    return rehearsal.provisioner, rehearsal.stack, rehearsal.proofs, operator, rehearsal.report


def _pair(rehearsal: Rehearsal) -> FencingProofs | None:
    """Return proofs of two servers that fence each other. None: the cluster has none."""
    if not (rehearsal.operator and rehearsal.plan.is_fenced):
        return None
    kube, servers = rehearsal.proofs.kube(rehearsal.operator), rehearsal.plan.control_plane
    return FencingProofs(kube, rehearsal.provisioner, rehearsal.stack, rehearsal.report, servers)


def _run_faults(rehearsal: Rehearsal, *, keep: bool) -> None:
    parts = (rehearsal.provisioner, rehearsal.stack, rehearsal.proofs, rehearsal.report, rehearsal.operators)
    Faults(*parts).run()
    if rehearsal.objects:
        rehearsal.objects.are_linked()
    if not keep:
        rehearsal.stack.run("destroy", "--yes", "--skip-preview")
    if rehearsal.objects:
        rehearsal.objects.touched_no_server()


def _consoles(wanted: Site, text: str) -> None:
    """Print the last console lines of the two machines that an error names last: its end has the reason."""
    names = [name for name in wanted.names if name in text]
    for name in sorted(names, key=text.rfind)[-2:]:
        say(f"\nthe last {CONSOLE_LINES} console lines of {name}:")
        for line in site.console_tail(name, CONSOLE_LINES):
            say(f"    {line}")


if __name__ == "__main__":
    sys.exit(main())
