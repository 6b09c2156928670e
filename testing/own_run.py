"""Each run of Pulumi has a process of its own, in which resources tell each other what they know; tests share one."""

from providers import registered
from providers.pulumi import declared


def forget_run() -> None:
    """Forget what the resources of a run have told each other."""
    registered.register({})
    for told in (registered.NEW_VM, registered.WITH_API, registered.RUNNING, registered.PHASE):
        told.clear()
    for urns in (declared.DECLARED, declared.REPLACED):
        urns.clear()
