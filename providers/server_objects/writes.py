"""What each change of a `ServerObjects` may write: the rows by which a write plan lists it beforehand."""

from collections.abc import Iterator

from base.writes import Write
from providers.server_objects.model import ServerObjectsOuts, ServerObjectsSpec
from providers.server_objects.objects import path_of
from wires.api.writes import to_api


def planned(
    old: ServerObjectsSpec | None, _outs: ServerObjectsOuts, new: ServerObjectsSpec | None
) -> Iterator[Write]:
    """Yield what a creation, an update or a deletion may write.

    Args:
        old: The inputs in the state; None for a creation.
        new: The inputs to come; None for a deletion, which leaves the objects to the cluster.
    """
    if new is None:
        return
    for name in new.objects:
        yield from (to_api(new.api_name, path_of(name), verb) for verb in ("create", "change"))
    for name in (old.objects if old else {}).keys() - new.objects.keys():
        yield to_api(new.api_name, path_of(name), "delete")
