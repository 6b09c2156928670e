"""The file of an inventory, as `okd-baremetal discover --json` prints it."""

from pathlib import Path

from pydantic import ValidationError

from base.errors import ConfigError, Fault
from cluster.files import read_text
from cluster.inventory.model import Inventory


def read_inventory(file: Path) -> Inventory:
    """Return the inventory in a file.

    Raises:
        ConfigError: It cannot be read, or is no inventory: one line per problem.
    """
    fix = "write what `okd-baremetal discover --json` prints into it"
    try:
        return Inventory.model_validate_json(read_text(file))
    except ConfigError as error:
        raise ConfigError(error.fault.within(str(file))) from None
    except ValidationError as error:
        faults = (
            Fault(".".join(map(str, each["loc"])), each["msg"], fix) for each in error.errors(include_input=False)
        )
        raise ConfigError(*(fault.within(str(file)) for fault in faults)) from None
