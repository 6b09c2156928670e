"""The protocol of a BMC."""

import inspect

from tests.unit.wires.bmc.methods import READS, WRITES
from wires.bmc.client import BmcClient


def test_every_method_either_reads_or_writes() -> None:
    methods = {name for name, _ in inspect.getmembers(BmcClient) if not name.startswith("_")}
    assert READS.keys() | WRITES.keys() == methods
    assert not READS.keys() & WRITES.keys()
