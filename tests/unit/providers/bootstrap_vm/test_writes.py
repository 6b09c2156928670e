"""The table of what a change of the VM may write, against what its engine writes, by what it finds."""

from contextlib import suppress

import pytest

from base.errors import HypervisorError
from base.writes import Write
from providers.bootstrap_vm.model import BootstrapVmOuts, BootstrapVmSpec
from providers.bootstrap_vm.writes import planned
from tests.unit.providers.bootstrap_vm.test_engine import CHANGED, IGNITION, SPEC, Rig, spec_with
from wires.libvirt import writes

SLOWER = spec_with(deadline_s=90)
WORDS = {"define": writes.DEFINE, "start": writes.START, "button": writes.PRESS, "cut": writes.CUT}
WORDS |= {"undefine": writes.UNDEFINE, "make": writes.MAKE, "delete": writes.DELETE}
FOUND: dict[str, BootstrapVmSpec | None] = {"nothing": None, "the-same": SPEC, "another": CHANGED}


def made(rig: Rig) -> set[Write]:
    """Return what was written, in the words of the wire."""
    return {
        writes.to_volume(SPEC.pool, call[-1], WORDS[call[0]])
        if call[-1] in SPEC.volumes
        else writes.to_domain(call[-1], WORDS[call[0]])
        for call in map(str.split, rig.hypervisor.calls)
    }


@pytest.mark.parametrize("deaf", [False, True], ids=["hears-its-button", "ignores-its-button"])
@pytest.mark.parametrize("running", [False, True], ids=["off", "on"])
@pytest.mark.parametrize("found", FOUND)
@pytest.mark.parametrize(
    ("old", "new"),
    [(None, SPEC), (SPEC, CHANGED), (SPEC, None), (SPEC, SLOWER)],
    ids=["create", "rebuild", "delete", "update"],
)
def test_the_engine_writes_only_what_is_planned(
    old: BootstrapVmSpec | None, new: BootstrapVmSpec | None, found: str, running: bool, deaf: bool
) -> None:
    rig, there = Rig(), FOUND[found]
    rig.hypervisor.shuts_down_s = None if deaf else 3
    if there:
        rig.has(there, running=running)
    with suppress(HypervisorError):
        if new:
            rig.engine.ensure(new, lambda: IGNITION, rig.network)
        else:
            rig.engine.remove(SPEC, rig.network)
    writes_of = made(rig)
    unplanned = writes_of - {*planned(old, BootstrapVmOuts(), new)}
    # Nobody has approved to build a VM that was lost or exchanged since the review: the guard refuses that.
    is_lost = new is SLOWER and found != "the-same"
    assert bool(unplanned) is is_lost
    # A refresh shows that it does not run: then it may be gone.
    assert found == "another" or not writes_of - {*planned(old, BootstrapVmOuts(running=False), new)}
