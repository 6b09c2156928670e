"""What each change of a `BmcHost` may write: the rows by which a write plan lists it beforehand."""

from collections.abc import Iterator

from base.writes import Write
from providers.bmc_host.model import BmcHostOuts, BmcHostSpec
from wires.redfish import writes
from wires.redfish.bmc import ON, Power, mode_of

TAKEN_OVER = (writes.power(Power.OFF), writes.EJECT)


def planned(old: BmcHostSpec | None, outs: BmcHostOuts, new: BmcHostSpec | None) -> Iterator[Write]:
    """Yield what a creation, an update or a deletion may write.

    Args:
        old: The inputs in the state; None for a creation.
        outs: The outputs in the state.
        new: The inputs to come; None for a deletion.
    """
    if new is None:
        if old and not old.spare and not old.protected:
            yield from (writes.to_bmc(old.bmc.address, action) for action in _released(old, outs))
    elif not new.spare and (not new.running if old is None else new.consent != old.consent):
        yield from (writes.to_bmc(new.bmc.address, action) for action in TAKEN_OVER)


def _released(spec: BmcHostSpec, outs: BmcHostOuts) -> Iterator[str]:
    """Yield how a server is left: off, without media, everything else as found."""
    was, own = outs.found.override, mode_of(spec.bmc.boot_mode)
    yield from TAKEN_OVER
    yield writes.NO_OVERRIDE
    if was.target and was.enabled:
        yield writes.override(was.target, was.enabled)
    yield from map(writes.boot_mode, filter(None, (was.mode, own)))
    if outs.found.secure_boot:
        yield writes.secure_boot(enabled=outs.found.secure_boot == ON)
