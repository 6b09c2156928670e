"""What each change of a `VipHandoff` may write: the rows by which a write plan lists it beforehand."""

from collections.abc import Iterator

from assets.contract import Word
from base.writes import Write
from cluster.values.balancer import Balancer
from cluster.values.phase import Phase
from cluster.values.snapshots import store_of
from providers.vip_handoff.model import VipHandoffOuts, VipHandoffSpec
from wires.etcd.writes import to_store
from wires.libvirt import writes

WORDS = {
    Balancer.CLUSTER: (Word.RELEASE, Word.HOLD),
    Balancer.OPERATOR: (Word.RELEASE, Word.LEAVE, Word.HOLD),
    Balancer.SITE: (),
}
"""The words that a move may send; `hold` takes the others back."""


def planned(old: VipHandoffSpec | None, _outs: VipHandoffOuts, new: VipHandoffSpec | None) -> Iterator[Write]:
    """Yield what a creation, an update or a deletion may write.

    Args:
        old: The inputs in the state; None for a creation, which only proves the holder.
        new: The inputs to come; None for a deletion.
    """
    if old is None or old.phase is not Phase.BOOTSTRAP:
        return
    if new is None:
        yield from (writes.to_domain(old.bootstrap_name, action) for action in writes.ENDS)
    elif new.phase is Phase.PRODUCTION:
        if new.snapshots:
            yield to_store(store_of(new.stack, new.snapshots))
        yield from (writes.to_domain(new.bootstrap_name, action) for action in writes.ENDS)
        yield from (writes.to_domain(new.bootstrap_name, writes.vip(word)) for word in WORDS[new.balancer])
