"""The examples of the documents that operators copy from; each file names its own in its first lines."""

from pathlib import Path

import pytest

from cluster.install_config import read
from testing.checkout import ROOT

EXAMPLES = sorted((ROOT / "tests" / "facts" / "install_config").glob("*.yaml"))
OLD_SPELLINGS = {
    "networking.machineCIDR",
    "networking.serviceCIDR",
    "networking.clusterNetworks",
    "networking.clusterNetwork.hostSubnetLength",
    "networking.type",
    "platform.baremetal.apiVIP",
    "platform.baremetal.ingressVIP",
    "platform.baremetal.provisioningHostIP",
    "platform.baremetal.provisioningDHCPExternal",
    "platform.baremetal.bootstrapOSImage",
    "platform.baremetal.clusterOSImage",
    "imageContentSources",
}
NOTICES = {"old-spellings": OLD_SPELLINGS, "arbiter": {"arbiter"}, "two-node-fencing": {"controlPlane.fencing"}}


def test_the_examples_are_there() -> None:
    assert {"provisioning-network", "no-provisioning-network", "dual-stack", "static-addresses", "bonds"} <= {
        each.stem for each in EXAMPLES
    }


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda example: example.stem)
def test_a_documented_example_works_unchanged(example: Path) -> None:
    text = example.read_text()
    reading = read(text)
    assert text.startswith("# Follows openshift-docs modules/")
    assert [str(fault) for fault in reading.faults] == []
    assert {notice.where for notice in reading.notices} == NOTICES.get(example.stem, set())
