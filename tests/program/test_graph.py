"""Both phases of the rehearsal's stack: its resources, their order, and which are secret or protected."""

from pathlib import Path
from typing import Any

import pytest
import yaml

from assets.services import PULL_SECRET_OF_BOOTSTRAP
from components.cluster import Cluster, ClusterArgs
from testing import clusters, plans
from testing.checkout import ROOT
from testing.golden import accepted_tree
from testing.install_configs import arm64
from tests.program.graph import Declared, Graph, run

MASTERS, WORKERS = set(plans.HOSTS[:3]), set(plans.HOSTS[3:])
CONTROL_PLANE = {"okd-okd-master-0", "okd-okd-master-1", "okd-okd-master-2"}
COMPUTE = {"okd-okd-worker-0", "okd-okd-worker-1"}
VM, HANDOFF, INGRESS, GUARD = "okd-bootstrap", "okd-api", "okd-ingress", "okd-destroy-guard"
PREFLIGHT, MACHINES, NETWORK, POWER = "okd-preflight", "okd-machines", "okd-network", "okd-power"
INSTALL_MASTERS, INSTALL_WORKERS = "okd-control-plane", "okd-compute"
PASSWORD = "rehearsal-only"


@pytest.fixture(autouse=True)
def _in_the_project(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)


@pytest.fixture(scope="module", name="graphs")
def both_phases() -> dict[str, Graph]:
    """One run per phase; `production` starts from the state that `bootstrap` left."""
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(ROOT)
        bootstrap = run()
        return {"bootstrap": bootstrap, "production": run(bootstrap, phase="production")}


@pytest.fixture
def bootstrap(graphs: dict[str, Graph]) -> Graph:
    return graphs["bootstrap"]


@pytest.fixture
def production(graphs: dict[str, Graph]) -> Graph:
    return graphs["production"]


def assets(graph: Graph) -> set[str]:
    return {each.name for each in graph.of("RenderedAsset")}


def test_phase_bootstrap_declares_the_vm_and_only_the_control_plane(bootstrap: Graph) -> None:
    assert {each.name for each in bootstrap.of("BmcHost")} == CONTROL_PLANE | COMPUTE
    assert bootstrap.one("BootstrapVm").name == VM
    assert bootstrap.one("VipHandoff").name == HANDOFF
    assert bootstrap.one("HostProvisioning").name == INSTALL_MASTERS
    assert bootstrap.of("VipHeld") == []


@pytest.mark.parametrize(
    ("phase", "counts"),
    [
        ("bootstrap", {"okd-bootstrap": 19, "okd-control-plane": 18, "okd-compute": 17, "okd-hosts": 13}),
        ("production", {"okd-control-plane": 18, "okd-compute": 17, "okd-hosts": 13}),
    ],
)
def test_every_rendered_file_is_declared_once_with_its_golden_content(
    graphs: dict[str, Graph], phase: str, counts: dict[str, int]
) -> None:
    files = assets(graphs[phase])
    assert {start: sum(name.startswith(f"{start}-") for name in files) for start in counts} == counts
    assert len(files) == sum(counts.values())
    assert {"okd-compute-keepalived.conf", "okd-control-plane-haproxy.cfg"} <= files
    assert "okd-hosts-okd-master-2-keepalived.conf" in files
    accepted = {}
    for path, content in accepted_tree("rehearsal").items():
        folder, _, place = path.partition("/etc/" if "/etc/" in path else "/usr/")
        name = f"okd-{folder.replace('/', '-')}-{Path(place).name}"
        accepted[name] = (path.removeprefix(folder), content.decode())
    declared = {each.name: (each.inputs["path"], each.inputs["text"]) for each in graphs[phase].of("RenderedAsset")}
    assert declared == {name: accepted[name] for name in files}


def test_phase_production_drops_the_bootstrap_and_adds_compute(bootstrap: Graph, production: Graph) -> None:
    gone = bootstrap.resources.keys() - production.resources.keys()
    assert gone == {VM} | {name for name in assets(bootstrap) if name.startswith("okd-bootstrap-")}
    assert production.resources.keys() - bootstrap.resources.keys() == {POWER, INSTALL_WORKERS, INGRESS, GUARD}


def test_only_the_phase_differs_between_the_phases(bootstrap: Graph, production: Graph) -> None:
    changed = {
        (name, key)
        for name in bootstrap.resources.keys() & production.resources.keys()
        for key in bootstrap.resources[name].inputs.keys() | production.resources[name].inputs.keys()
        if bootstrap.resources[name].inputs.get(key) != production.resources[name].inputs.get(key)
    }
    assert changed == {
        *((name, "phase") for name in (PREFLIGHT, MACHINES, NETWORK, HANDOFF)),
        (INSTALL_MASTERS, "out_of_etcd"),
    }


def test_edges_of_phase_bootstrap(bootstrap: Graph) -> None:
    hosts = CONTROL_PLANE | COMPUTE
    assert bootstrap.after(bootstrap.one("Machines")) == {PREFLIGHT} | assets(bootstrap)
    for host in bootstrap.of("BmcHost"):
        assert bootstrap.after(host) == {MACHINES}
    assert bootstrap.after(bootstrap.one("BootstrapVm")) == {PREFLIGHT, NETWORK} | hosts | assets(bootstrap)
    assert bootstrap.after(bootstrap.one("VipHandoff")) == {VM}
    assert bootstrap.after(bootstrap.one("HostProvisioning")) == {HANDOFF} | CONTROL_PLANE


def test_edges_of_phase_production(production: Graph) -> None:
    assert production.after(production.one("ClusterPower")) == {MACHINES}
    for host in production.of("BmcHost"):
        assert production.after(host) == {POWER}
    control_plane, compute = production.resources[INSTALL_MASTERS], production.resources[INSTALL_WORKERS]
    assert production.after(control_plane) == CONTROL_PLANE
    assert production.after(production.one("VipHandoff")) == {INSTALL_MASTERS, NETWORK}
    assert production.after(compute) == {HANDOFF} | CONTROL_PLANE | COMPUTE
    assert production.after(production.one("VipHeld")) == {INSTALL_WORKERS}


@pytest.mark.parametrize("phase", ["bootstrap", "production"])
def test_everything_but_rendered_files_waits_for_the_one_preflight(graphs: dict[str, Graph], phase: str) -> None:
    graph = graphs[phase]
    assert (graph.one("ProvisionerPreflight").name, graph.after(graph.one("ProvisionerPreflight"))) == (
        PREFLIGHT,
        set(),
    )

    others = graph.resources.keys() - assets(graph) - {PREFLIGHT}
    assert {name for name in others if PREFLIGHT not in graph.long_after(graph.resources[name])} == set()


def test_the_preflight_probes_the_inputs_of_the_vm_and_the_rollout(bootstrap: Graph) -> None:
    inputs, vm = bootstrap.one("ProvisionerPreflight").inputs, bootstrap.one("BootstrapVm").inputs
    rollout = bootstrap.one("HostProvisioning").inputs
    assert inputs["bridges"] == {"externalBridge": vm["bridge"]}
    assert inputs["vm"] == vm["name"]
    assert (inputs["payload"], inputs["domain"]) == ({**plans.PAYLOAD, "arbiter": ""}, "okd.lab.test")
    assert inputs["payload"]["bootstrap"] == vm["payload_sha256"]
    for key in ("libvirt_uri", "pool", "base_volume", "disk_gib", "emulated"):
        assert inputs[key] == vm[key], key
    for key in ("media_address", "media_port", "base_iso_sha256", "base_iso_url"):
        assert inputs[key] == rollout[key], key


def test_each_role_is_installed_from_the_iso_of_its_architecture(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    config = plans.install_config()
    arm64(config)
    path = tmp_path / "stacks" / "rehearsal" / "install-config.yaml"
    path.parent.mkdir(parents=True)
    path.write_text(yaml.safe_dump(config))
    monkeypatch.chdir(tmp_path)
    media = {**plans.options()["media"], "base_iso_arm64": {"sha256": "a6" * 32}}
    graph = run(run(media=media), phase="production", media=media)
    inputs = graph.one("ProvisionerPreflight").inputs
    assert (inputs["base_iso_sha256"], inputs["base_iso_arm64_sha256"]) == ("d3" * 32, "a6" * 32)
    for name, architecture, key in (
        ("okd-control-plane", "amd64", "base_iso_sha256"),
        ("okd-compute", "arm64", "base_iso_arm64_sha256"),
    ):
        rollout = graph.resources[name].inputs
        assert (rollout["architecture"], rollout["base_iso_sha256"]) == (architecture, inputs[key])


@pytest.mark.parametrize("phase", ["bootstrap", "production"])
def test_the_network_preflight_waits_until_every_server_is_taken_over(graphs: dict[str, Graph], phase: str) -> None:
    graph = graphs[phase]
    assert graph.after(graph.one("NetworkPreflight")) == {PREFLIGHT} | CONTROL_PLANE | COMPUTE


def test_the_network_preflight_probes_what_handoff_and_ingress_claim(production: Graph) -> None:
    inputs, handoff = production.one("NetworkPreflight").inputs, production.one("VipHandoff").inputs
    api, ingress = inputs["api"], inputs["ingress"]
    assert (api["vips"], api["macs"]) == (["192.168.111.5"], [handoff["bootstrap_mac"]])
    masters = {name: [address] for name, address in handoff["nodes"].items()}
    assert api["holders"] == {VM: ["192.168.111.20"], **masters}
    held = production.one("VipHeld").inputs
    assert ingress["vips"] == [held["vip"]]
    assert ingress["holders"] == {name: [address] for name, address in held["nodes"].items()}
    assert (api["router_id"], ingress["router_id"]) == (67, 162)
    assert inputs["severity"] == {"vip": "error", "vrid": "error", "dhcp": "error", "dns": "warn"}


@pytest.mark.parametrize("phase", ["bootstrap", "production"])
def test_servers_and_rendered_files_do_not_wait_for_each_other(graphs: dict[str, Graph], phase: str) -> None:
    graph = graphs[phase]
    for host in graph.of("BmcHost"):
        assert not graph.after(host) & (CONTROL_PLANE | COMPUTE), "servers are asked in parallel"
    for asset in graph.of("RenderedAsset"):
        assert graph.after(asset) == set()


@pytest.mark.parametrize("phase", ["bootstrap", "production"])
def test_every_provider_accepts_its_inputs(graphs: dict[str, Graph], phase: str) -> None:
    assert graphs[phase].refused == []


@pytest.mark.parametrize("phase", ["bootstrap", "production"])
def test_passwords_and_ignition_are_secret(graphs: dict[str, Graph], phase: str) -> None:
    graph = graphs[phase]
    secret: dict[str, set[str]] = {
        "BmcHost": {"password"}, "BootstrapVm": {"ours"}, "HostProvisioning": {"passwords", "ours"}
    }  # fmt: skip
    for each in graph.resources.values():
        assert secret.get(each.kind, set()) <= each.secrets, each.name
        plain = {key: value for key, value in each.inputs.items() if key not in each.secrets}
        assert PASSWORD not in repr(plain), each.name
        assert '"ignition"' not in repr(plain), each.name
    for rollout in graph.of("HostProvisioning"):
        assert ("keyfiles" in rollout.secrets) is (rollout.inputs["keyfiles"] != {})
    for host in graph.of("BmcHost"):
        assert host.inputs["password"] == PASSWORD


def test_the_stacks_pull_secret_and_web_hook_reach_no_resource() -> None:
    graph = run(pull_secret='{"auths": {"a.test": {"auth": "hunter2"}}}', notify_url="https://chat.test/hunter2")
    assert graph.refused == []
    for each in graph.resources.values():
        assert "hunter2" not in repr(each.inputs), each.name
    assert "hunter2" not in repr(graph.exports)


def test_a_password_from_the_options_is_secret() -> None:
    graph = run(bmc_credentials={"okd-master-0": {"username": "root", "password": "hunter2"}})
    first = graph.resources["okd-okd-master-0"].inputs
    assert (first["bmc"]["username"], first["password"]) == ("root", "hunter2")
    targets = graph.one("HostProvisioning").inputs["hosts"]
    assert targets["okd-master-0"]["bmc"]["username"] == "root"
    assert graph.one("HostProvisioning").inputs["passwords"]["okd-master-0"] == "hunter2"
    for each in graph.resources.values():
        assert "hunter2" not in repr({key: value for key, value in each.inputs.items() if key not in each.secrets})


@pytest.mark.parametrize("phase", ["bootstrap", "production"])
def test_no_input_holds_a_path_of_this_machine(graphs: dict[str, Graph], phase: str) -> None:
    for each in graphs[phase].resources.values():
        assert str(ROOT) not in repr(each.inputs), each.name
        inputs = repr({**each.inputs, "ours": ""}).replace(PULL_SECRET_OF_BOOTSTRAP, "")
        assert str(Path.home()) + "/" not in inputs, each.name


@pytest.mark.parametrize("phase", ["bootstrap", "production"])
def test_the_urn_input_is_the_resources_own_urn(graphs: dict[str, Graph], phase: str) -> None:
    knowing = [each for each in graphs[phase].resources.values() if each.kind != "RenderedAsset"]
    assert len(knowing) == {"bootstrap": 11, "production": 14}[phase]
    for each in knowing:
        assert each.inputs["urn"] == each.urn
    hosts = {each.inputs["host"]: each.urn for each in graphs[phase].of("BmcHost")}
    for rollout in graphs[phase].of("HostProvisioning"):
        assert rollout.inputs["rows"] == {name: hosts[name] for name in rollout.inputs["hosts"]}


def test_the_urn_of_a_server_has_the_types_of_its_parents(bootstrap: Graph) -> None:
    assert bootstrap.resources["okd-okd-worker-0"].inputs["urn"] == (
        "urn:pulumi:rehearsal::okd-baremetal::baremetal:cluster:Cluster$baremetal:servers:Servers"
        "$pulumi-python:dynamic/baremetal:BmcHost::okd-okd-worker-0"
    )


def test_each_role_is_installed_with_its_own_payload_and_machines(production: Graph) -> None:
    installs = production.resources
    control_plane, compute = installs[INSTALL_MASTERS].inputs, installs[INSTALL_WORKERS].inputs
    assert (control_plane["role"], compute["role"]) == ("control-plane", "compute")
    assert (control_plane["payload_sha256"], compute["payload_sha256"]) == (
        plans.PAYLOAD["master"],
        plans.PAYLOAD["worker"],
    )
    for inputs, names in ((control_plane, MASTERS), (compute, WORKERS)):
        for key in ("hosts", "identities", "passwords", "ours", "ignition_sha256", "rows"):
            assert inputs[key].keys() == names
    assert production.one("VipHeld").inputs["nodes"].keys() == WORKERS
    handoff = production.one("VipHandoff").inputs
    assert handoff["nodes"].keys() == MASTERS
    assert handoff["min_ready"] == 3


def test_the_handoff_takes_min_ready_from_the_options() -> None:
    assert run(handoff={"min_ready": 2}).one("VipHandoff").inputs["min_ready"] == 2


def test_the_rollout_gets_the_identity_that_each_server_reported(bootstrap: Graph) -> None:
    assert bootstrap.one("HostProvisioning").inputs["identities"] == {
        name: {"uuid": f"uuid-of-okd-{name}", "serial": f"serial-of-okd-{name}"} for name in MASTERS
    }


def test_the_options_of_one_bmc_reach_both_resources_that_log_in_to_it() -> None:
    login = {"username": "root", "password": "hunter2", "session": True}
    trust = {"okd-master-0": {"sha256": "AB" * 32, "legacy_tls": True}, "okd-master-1": {"ca": "its own PEM"}}
    graph = run(bmc_credentials={"okd-master-2": login}, bmc_trust=trust)
    targets = graph.one("HostProvisioning").inputs["hosts"]
    wanted: dict[str, dict[str, object]] = {
        "okd-master-0": {"fingerprint": "ab" * 32, "legacy_tls": True},
        "okd-master-1": {"ca": "its own PEM"},
        "okd-master-2": {"session": True},
    }
    defaults: dict[str, object] = {"fingerprint": "", "legacy_tls": False, "session": False, "verify": True}
    for name, own in wanted.items():
        # A rollout has the common CA once; a host of it has only a CA of its own.
        for bmc, ca in ((graph.resources[f"okd-{name}"].inputs["bmc"], "a PEM"), (targets[name]["bmc"], "")):
            assert {key: bmc[key] for key in ("ca", *defaults)} == {"ca": ca, **defaults, **own}
    assert graph.one("HostProvisioning").inputs["ca"] == "a PEM"


def test_each_role_gets_its_own_hosts_to_reinstall(bootstrap: Graph) -> None:
    graph = run(bootstrap, phase="production", reinstall={"okd-worker-0": "serial-of-okd-okd-worker-0"})
    inputs = {each.name: each.inputs["reinstall"] for each in graph.of("HostProvisioning")}
    assert inputs == {INSTALL_MASTERS: {}, INSTALL_WORKERS: {"okd-worker-0": "serial-of-okd-okd-worker-0"}}
    assert graph.refused == []


@pytest.mark.parametrize(("phase", "out"), [("bootstrap", []), ("production", plans.HOSTS[:3])])
def test_in_production_etcd_is_asked_about_the_control_plane_only(
    bootstrap: Graph, phase: str, out: list[str]
) -> None:
    graph = run(bootstrap, phase=phase)
    inputs = {each.name: list(each.inputs["out_of_etcd"]) for each in graph.of("HostProvisioning")}
    assert inputs == {INSTALL_MASTERS: list(out)} | ({INSTALL_WORKERS: []} if phase == "production" else {})


@pytest.mark.parametrize(
    ("changes", "running"),
    [({"phase": "production", "import_production": True}, True), ({"phase": "bootstrap"}, False)],
    ids=["imported", "new"],
)
def test_an_imported_cluster_is_never_forced_off(changes: dict[str, Any], running: bool) -> None:
    left_running = {each.name: each.inputs["running"] for each in run(**changes).of("BmcHost")}
    assert left_running == dict.fromkeys(CONTROL_PLANE | COMPUTE, running)


def test_each_server_gets_its_own_consent(bootstrap: Graph) -> None:
    consents = {each.inputs["host"]: each.inputs["consent"] for each in bootstrap.of("BmcHost")}
    assert consents == plans.CONSENT


def protected(graph: Graph) -> set[str]:
    return {each.name for each in graph.resources.values() if each.protect}


@pytest.mark.parametrize(
    "changes", [{"phase": "production", "destroyable": True}, {"phase": "bootstrap", "destroyable": False}], ids=str
)
def test_a_cluster_can_be_destroyed_before_production(bootstrap: Graph, changes: dict[str, Any]) -> None:
    graph = run(bootstrap, **changes)
    assert protected(graph) == set()
    assert not any(each.inputs["protected"] for each in (*graph.of("BmcHost"), *graph.of("DestroyGuard")))


@pytest.mark.parametrize("name", clusters.VARIANTS)
def test_all_of_production_is_protected_or_what_the_guard_needs(name: str) -> None:
    """Issue 40, 3. What an `up` may have to delete is not protected: the guard depends on it."""
    plan = clusters.plan(name, phase="production", import_production=True, destroyable=False, wait="install")

    def program() -> None:
        Cluster(plan.name, ClusterArgs(plan))

    graph = run(program=program)
    guard = graph.one("DestroyGuard")
    assert graph.long_after(guard) | {guard.name} == graph.resources.keys()
    spares = {f"{plan.name}-{spare.name}" for spare in plan.spares}
    with_okd = {each.name for kind in ("OkdInstalled", "ServerObjects") for each in graph.of(kind)}
    assert f"{plan.name}-okd" in with_okd
    power = f"{plan.name}-power"  # which an `up` that goes back to phase bootstrap deletes
    compute = {f"{plan.name}-{server.name}" for server in plan.compute}
    assert graph.resources.keys() - protected(graph) == assets(graph) | spares | compute | with_okd | {power}
    unprotected = {each.inputs["host"] for each in graph.of("BmcHost") if not each.inputs["protected"]}
    assert unprotected == {host.name for host in (*plan.spares, *plan.compute)}


def test_what_needs_a_running_cluster_keeps_its_inputs_in_its_sleep(production: Graph) -> None:
    asleep = run(production, phase="production", power="off")
    kept = {each.kind for each in asleep.resources.values() if each.ignores}
    assert kept == {"NetworkPreflight", "HostProvisioning", "VipHandoff", "VipHeld"}
    assert [each.name for each in production.resources.values() if each.ignores] == []
    assert asleep.one("ClusterPower").inputs["power"] == "off"


def test_what_cannot_begin_in_a_sleep_is_refused_and_what_had_is_kept(bootstrap: Graph) -> None:
    wanted: dict[str, Any] = {"wait": "install", "upgrade": {"version": "4.21.3", "image": f"a/b@sha256:{'5e' * 32}"}}
    awake, had_begun = (run(bootstrap, phase="production", **options) for options in ({}, wanted))
    options = {"phase": "production", "power": "off", **wanted}
    refused = run(awake, **options).refused
    assert [line.partition(" with `power` off")[0] for line in refused] == [
        "okd-okd: wait: set for the first time",
        "okd-upgrade: upgrade: set for the first time",
    ]
    assert run(had_begun, **options).refused == []


def test_an_upgrade_comes_after_all_else_and_in_production_alone(bootstrap: Graph) -> None:
    release = {"version": "4.21.3", "image": f"quay.io/okd/scos-release@sha256:{'5e' * 32}"}
    graph = run(bootstrap, phase="production", wait="install", upgrade=release)
    upgrade = graph.one("ClusterUpgrade")
    assert (graph.refused, graph.after(upgrade), upgrade.protect) == ([], {INGRESS, "okd-okd"}, False)
    assert upgrade.name in graph.after(graph.one("DestroyGuard"))
    assert {name: upgrade.inputs[name] for name in release} == release
    assert (upgrade.inputs["deadline_s"], upgrade.inputs["urn"]) == (14400, upgrade.urn)
    assert run(upgrade=release).of("ClusterUpgrade") == []


def test_what_replace_names_is_deleted_first_where_that_is_refused(bootstrap: Graph, production: Graph) -> None:
    """Made first, BmcHost switches a server off; and the deletion of the old VipHandoff ends the bootstrap VM."""
    declared = [*bootstrap.resources.values(), *production.resources.values()]
    assert [each.name for each in declared if not each.goes_first] == []


def test_the_exports_are_those_of_the_readme(bootstrap: Graph, production: Graph) -> None:
    always = {"api", "phase", "api_vip_holder", "handoff", "hosts", "approved_certificates", "kubeconfig"}
    assert bootstrap.exports.keys() == always
    assert production.exports.keys() == always | {"console", "next"}
    for phase, graph in (("bootstrap", bootstrap), ("production", production)):
        assert (graph.exports["phase"], graph.exports["api"]) == (phase, "https://api.okd.lab.test:6443")
    assert production.exports["console"] == "https://console-openshift-console.apps.okd.lab.test"
    wait_for = "openshift-install wait-for install-complete --dir stacks/rehearsal/payload tells the end"
    assert production.exports["next"].endswith(wait_for)


def test_the_outputs_tell_about_each_server(bootstrap: Graph, production: Graph) -> None:
    known, installed = {"role", "addresses", "mac", "hints", "uuid"}, {"disk", "iso_sha256", "at", "seconds"}
    of_bootstrap = {f"okd-{name}": set(about) for name, about in bootstrap.exports["hosts"].items()}
    assert {name for name, about in of_bootstrap.items() if about == known | installed} == CONTROL_PLANE
    assert {name for name, about in of_bootstrap.items() if about == known} == COMPUTE
    assert {*map(frozenset, production.exports["hosts"].values())} == {frozenset(known | installed)}
    about = production.exports["hosts"]["okd-worker-0"]
    assert (about["role"], about["addresses"], about["mac"]) == ("compute", ["192.168.111.24"], "52:54:00:11:10:18")
    assert about["hints"] == "deviceName: /dev/vda"


def test_the_kubeconfig_is_a_secret_output(bootstrap: Graph) -> None:
    assert bootstrap.one("VipHandoff").secret_outputs == {"kubeconfig"}
    assert "kubeconfig" not in bootstrap.exports["handoff"]


def test_okd_is_waited_for_last_of_all_and_on_request_alone(bootstrap: Graph, production: Graph) -> None:
    waiting = run(bootstrap, phase="production", wait="install", deadlines={"install_s": 7200})
    assert waiting.resources.keys() - production.resources.keys() == {"okd-okd"}
    okd = waiting.one("OkdInstalled")
    assert waiting.after(okd) == {INGRESS}
    wanted = {"api_name": "api.okd.lab.test", "api_vip": "192.168.111.5", "deadline_s": 7200, "stack": "rehearsal"}
    assert {key: okd.inputs[key] for key in wanted} == wanted
    assert okd.inputs["urn"] == okd.urn
    assert waiting.one("ProvisionerPreflight").inputs["asks_okd"] is True
    assert waiting.exports.keys() == production.exports.keys() - {"next"}
    assert run(wait="install").of("OkdInstalled") == []


def test_certificates_of_both_roles_are_approved_as_the_option_says(bootstrap: Graph) -> None:
    for option in (True, False):
        graph = run(bootstrap, phase="production", approve_certificates=option)
        installs = graph.of("HostProvisioning")
        assert [each.inputs["approve_certificates"] for each in installs] == [option, option]
        assert {each.inputs["api_vip"] for each in installs} == {"192.168.111.5"}
        addresses = {name: host["addresses"] for each in installs for name, host in each.inputs["hosts"].items()}
        assert addresses["okd-worker-1"] == plans.options()["node_addresses"]["okd-worker-1"]


def test_a_changed_address_changes_only_the_files_and_digests_that_hold_it(bootstrap: Graph) -> None:
    def differs(one: Declared, other: Declared) -> set[str]:
        return {key for key in one.inputs if one.inputs[key] != other.inputs.get(key)}

    changed = run(bootstrap, node_addresses={
        **plans.options()["node_addresses"], "okd-worker-1": ["192.168.111.99"]
    })  # fmt: skip
    touched = {
        name: differs(each, changed.resources[name])
        for name, each in bootstrap.resources.items()
        if differs(each, changed.resources[name])
    }
    assert touched == {
        "okd-bootstrap-Corefile": {"text"},
        "okd-control-plane-Corefile": {"text"},
        "okd-compute-Corefile": {"text"},
        MACHINES: {"hosts"},
        NETWORK: {"ingress"},
        VM: {"ignition_sha256", "ours"},
        INSTALL_MASTERS: {"ignition_sha256", "ours"},
    }
