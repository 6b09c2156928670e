"""What the kept inventory of a stack says against its install-config: the same text for all commands."""

from collections.abc import Callable

from base.errors import one_line
from cli.shared.command_line import inventory_file
from cluster.inventory.file import read_inventory
from cluster.inventory.proof import contradictions
from cluster.plan import Intent


def notices(stack: str, intent: Callable[[], Intent]) -> list[str]:
    """Return a line for each contradiction; none if the stack has no inventory.

    Args:
        stack: The stack.
        intent: Returns what its install-config asks for; is called only if there is an inventory.

    Raises:
        ConfigError: The inventory or the install-config cannot be read.
    """
    kept = inventory_file(stack)
    found = contradictions(intent(), read_inventory(kept)) if kept.exists() else ()
    return [one_line(f"notice: {fault}") for fault in found]
