"""The write plan of a preview: its file, its digest, and that no provider is missing."""

import hashlib
import json

from cluster.options import Release
from providers.bmc_host.model import AsFound, BmcHostOuts
from providers.cluster_power.model import ClusterPowerSpec
from providers.cluster_upgrade.model import ClusterUpgradeSpec
from providers.server_objects.model import ServerObjectsSpec
from review.preview import read_preview
from review.verdict import OWN
from review.write_plan import WritePlan, tables
from testing import clusters, plans
from testing.checkout import ROOT
from testing.preview_steps import bmc_host, preview, step, step_of
from wires.bmc.client import BootOverride
from wires.bmc.writes import to_bmc

PLAN = plans.plan()
HOST = bmc_host(PLAN, "okd-master-0")
READ_ONLY = {
    "DestroyGuard": "refuses a deletion",
    "Machines": "reads BMCs",
    "NetworkPreflight": "probes the network",
    "OkdInstalled": "reads the API",
    "ProvisionerPreflight": "reads this machine",
    "RenderedAsset": "has a reader check a text",
    "VipHeld": "probes the Ingress VIP",
}
"""The resources that write to no machine."""


def planned(*steps: dict[str, object]) -> dict[str, list[str]]:
    writes: dict[str, list[str]] = json.loads(WritePlan.of(read_preview(preview(*steps), "a preview")).text)["writes"]
    return writes


def test_every_resource_has_a_table_beside_it_or_writes_nothing() -> None:
    kinds = {kind.__name__.removesuffix("Spec") for kind, *_ in tables(read_preview(preview(), "a preview"))}
    assert kinds | READ_ONLY.keys() == OWN
    assert not kinds & READ_ONLY.keys()
    beside = {path.parent.name for path in ROOT.glob("providers/*/writes.py")}
    assert {name.replace("_", "") for name in beside} == {kind.lower() for kind in kinds}


def test_its_digest_is_that_of_its_file_and_covers_inputs_without_writes() -> None:
    one, other = (
        WritePlan.of(read_preview(preview(step("update", "okd-master-0", HOST, HOST.changed(deadline_s=s))), ""))
        for s in (60, 61)
    )
    assert json.loads(one.text)["writes"] == json.loads(other.text)["writes"] == {}
    assert one.digest != other.digest
    assert one.digest == hashlib.sha256(one.text.encode()).hexdigest()


def test_a_replacement_gives_the_old_server_up_and_takes_the_new_one_over() -> None:
    found = BmcHostOuts(found=AsFound(override=BootOverride("Pxe", "Continuous", "Legacy"), secure_boot="off"))
    new = bmc_host(PLAN, "okd-master-1")
    writes = planned(step("replace", "okd-master-0", HOST, new, outs=found))["BmcHost::okd-master-0"]
    actions = {bmc: {line.partition(": ")[2] for line in writes if bmc in line} for bmc in ("192.168", "https")}
    assert {"power Off", "eject", "boot override Pxe Continuous", "boot mode Legacy", "Secure Boot off"} <= actions[
        "https"
    ]
    assert len({line.partition(": ")[0] for line in writes}) == 2


def test_what_pulumi_libvirt_makes_is_in_the_plan() -> None:
    assert planned(step_of("create", "Pool", "okd-pool", None, {"name": "okd"})) == {
        "Pool::okd-pool": ["Pool okd-pool: create"]
    }


def test_a_sleep_shuts_down_and_a_waking_switches_on() -> None:
    """A host that is installed again is left out, as are a snapshot and approvals that the stack does not want."""
    awake = ClusterPowerSpec.of(plans.plan(phase="production"), plans.STACK)
    asleep, hosts = awake.changed(power="off"), {name: it.bmc.address for name, it in awake.hosts.items()}

    def written(old: ClusterPowerSpec, new: ClusterPowerSpec) -> list[str]:
        (writes,) = planned(step("update", "okd-power", old, new)).values()
        return writes

    def wanted(action: str, *others: str) -> list[str]:
        nodes = [f"API {awake.api_name}: change nodes/{name}" for name in hosts]
        return sorted([*others, *nodes, *(str(to_bmc(address, action)) for address in hosts.values())])

    save = f"folder /srv/etcd/{plans.STACK}: save etcd"
    assert written(awake, asleep) == wanted("shut down")
    assert written(awake, asleep.changed(snapshots="/srv/etcd")) == wanted("shut down", save)
    approve = f"API {awake.api_name}: change certificatesigningrequests/…/approval"
    assert written(asleep, awake) == wanted("power On", approve)
    hosts.pop("okd-worker-1")
    again = awake.changed(reinstall={"okd-worker-1": "SERIAL"}, approve_certificates=False)
    assert written(asleep, again) == wanted("power On")
    assert planned(step("create", "okd-power", None, awake)) == {}
    assert planned(step("delete", "okd-power", awake, None)) == {}
    assert planned(step("update", "okd-power", asleep, asleep.changed(shutdown_s=1.0))) == {}


def test_an_upgrade_may_only_save_etcd_and_set_what_was_approved() -> None:
    release = Release(version="4.21.3", image=f"quay.io/okd/scos-release@sha256:{'5e' * 32}")
    spec = ClusterUpgradeSpec.of(clusters.plan("rehearsal", snapshots="/srv/etcd"), plans.STACK, release)
    (writes,) = planned(step("create", "okd-upgrade", None, spec)).values()
    assert writes == [
        f"API api.okd.lab.test: change clusterversions/version to 4.21.3 {release.image}",
        f"folder /srv/etcd/{plans.STACK}: save etcd",
    ]
    (writes,) = planned(step("update", "okd-upgrade", spec, spec.changed(snapshots="", version="4.21.4"))).values()
    assert writes == [f"API api.okd.lab.test: change clusterversions/version to 4.21.4 {release.image}"]
    assert planned(step("delete", "okd-upgrade", spec, None)) == {}


def test_objects_of_servers_may_be_made_and_changed_and_stay_at_the_end() -> None:
    spec = ServerObjectsSpec.of(clusters.plan("baremetal"), plans.STACK)
    fewer = spec.changed(objects={name: own for name, own in spec.objects.items() if "worker-1" not in name})
    (writes,) = planned(step("update", "okd-objects", spec, fewer)).values()
    api = "API api.okd.lab.test:"
    for kind in ("baremetalhosts", "machines"):
        assert f"{api} create {kind}/okd-master-0" in writes
        assert f"{api} change {kind}/okd-master-0" in writes
        assert [line for line in writes if f"{kind}/okd-worker-1" in line] == [f"{api} delete {kind}/okd-worker-1"]
    assert planned(step("delete", "okd-objects", spec, None)) == {}
