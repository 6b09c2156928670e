"""What a change makes different in what is not installed yet: its preview against that of the base branch."""

from dataclasses import replace

from review.preview import Preview, Step

CREATE = "create"
Key = tuple[str, str]


def created(preview: Preview) -> dict[Key, Step]:
    """Return what a preview creates, by kind and name."""
    return {_key(step): step for step in preview.steps if step.operation == CREATE}


def against(preview: Preview, base: Preview) -> Preview:
    """Return a preview with the difference to that of the base branch, where the state has nothing to compare with.

    What both would create is an update of what the base would create, and is left out if it is equal. What only the
    base would create is deleted. All other steps stay.
    """
    before, now = created(base), {_key(step) for step in preview.steps}
    gone = [replace(step, operation="delete", old=step.new, new={}) for key, step in before.items() if key not in now]
    steps = [_against(step, before.get(_key(step))) for step in preview.steps]
    kept = sorted([*filter(None, steps), *gone], key=lambda step: (step.kind, step.name, step.operation))
    return Preview(tuple(kept), preview.options)


def _key(step: Step) -> Key:
    return step.kind, step.name


def _against(step: Step, base: Step | None) -> Step | None:
    if base is None or step.operation != CREATE:
        return step
    names = sorted(step.new.keys() | base.new.keys())
    changed = tuple(name for name in names if step.new.get(name) != base.new.get(name))
    return replace(step, operation="update", old=base.new, changed=changed) if changed else None
