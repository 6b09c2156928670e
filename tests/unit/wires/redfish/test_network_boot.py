"""A BMC whose host boots from the network."""

from tests.unit.wires.redfish.one_bmc import SYSTEM, OneBmc


def test_it_is_asked_for_no_virtual_cd(it: OneBmc) -> None:
    bmc = it.client(kind="redfish")
    assert bmc.media() is None
    assert it.lines == []


def test_the_next_boot_is_from_the_network(it: OneBmc) -> None:
    bmc = it.client(kind="redfish")
    bmc.identity()
    bmc.set_override("Pxe", "Once")
    assert it.writes == [f"PATCH {SYSTEM}"]
    assert it.bodies[-1]["Boot"]["BootSourceOverrideTarget"] == "Pxe"
    assert it.bodies[-1]["Boot"]["BootSourceOverrideEnabled"] == "Once"
