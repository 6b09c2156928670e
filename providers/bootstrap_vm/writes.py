"""What each change of a `BootstrapVm` may write: the rows by which a write plan lists it beforehand."""

from collections.abc import Iterator

from base.writes import Write
from providers.bootstrap_vm.model import BootstrapVmOuts, BootstrapVmSpec
from wires.libvirt import writes


def planned(old: BootstrapVmSpec | None, outs: BootstrapVmOuts, new: BootstrapVmSpec | None) -> Iterator[Write]:
    """Yield what a creation, an update or a deletion may write.

    Args:
        old: The inputs in the state; None for a creation.
        outs: The outputs in the state.
        new: The inputs to come; None for a deletion.
    """
    if new is None:
        if old:
            yield from _removed(old)
        return
    yield writes.to_domain(new.name, writes.START)
    if old is None or old.build != new.build or not outs.running:
        # A creation, too, builds a VM again that an earlier run has left; one that does not run may be gone.
        yield from _removed(new)
        yield writes.to_domain(new.name, writes.DEFINE)
        yield from (writes.to_volume(new.pool, volume, writes.MAKE) for volume in new.volumes)


def _removed(vm: BootstrapVmSpec) -> Iterator[Write]:
    yield from (writes.to_domain(vm.name, action) for action in writes.ENDS)
    yield from (writes.to_volume(vm.pool, volume, writes.DELETE) for volume in vm.volumes)
