"""The file of an inventory, as `okd-baremetal discover --json` prints it."""

from dataclasses import replace
from pathlib import Path

from pydantic import ValidationError

from base.errors import ConfigError
from base.shapes import shape_faults
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
        faults = (replace(fault, fix=fix) for fault in shape_faults(error, Inventory))
        raise ConfigError(*(fault.within(str(file)) for fault in faults)) from None
