"""What the hosts of an update are installed with, what is awaited, and what is recorded of them."""

import hashlib
from pathlib import Path
from typing import Any

import pytest

from base.errors import ProvisioningError
from base.log_entries import Event
from boot_media.host_isos import IsoMedia, Recipe
from boot_media.media_server import MediaServer
from boot_media.web_server import WebServer
from cluster.values.architecture import Architecture
from cluster.values.role import Role
from providers import registered
from providers.etcd.snapshot import EtcdSnapshots
from providers.host_provisioning.departure import Departure
from providers.host_provisioning.installation.adapters import Target
from providers.host_provisioning.installation.boot_procedures import HttpBoot, NetworkBoot, VirtualCd
from providers.host_provisioning.provider import HostProvisioningProvider
from providers.host_provisioning.topology import ControlPlane
from testing import payloads
from testing.certificate_requests import FakeCluster, client_request, node
from testing.certificates import authority
from testing.fakes.clock import FakeClock
from testing.fakes.fleet.fleet import Options, running
from testing.kubeconfigs import write_kubeconfig
from tests.unit.cli.runs.test_timeline import line
from tests.unit.providers.host_provisioning.rollouts import Rollouts, updated
from tests.unit.providers.host_provisioning.specs import BOARD, INSTALLED, ROLE, host, of_hosts, record
from wires.api.kubernetes import KubeApi
from wires.bmc.client import Identity


class TestCreate:
    def test_every_host_gets_a_record(self, rollouts: Rollouts) -> None:
        created = HostProvisioningProvider().create({**ROLE, "__provider": "pickle"})
        assert created.id == "test-compute"
        outs: dict[str, Any] = created.outs or {}
        assert [(installed["uuid"], installed["iso_sha256"]) for installed in outs["installed"].values()] == [
            ("w0", "cd"),
            ("w1", "cd"),
        ]
        assert (outs["steps"], outs["requests"]) == (
            {"w0": {"media": 2.5}, "w1": {"media": 2.5}},
            {"w0": 0, "w1": 0},
        )
        assert rollouts.targets == [Target("w0", "w0", "192.0.2.31"), Target("w1", "w1", "192.0.2.31")]

    def test_the_time_of_a_host_is_that_of_its_latest_installation(
        self, rollouts: Rollouts, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.chdir(tmp_path)
        HostProvisioningProvider().create(ROLE)
        assert [installation.expected_s for installation in rollouts.installations.values()] == [None, None]
        (tmp_path / "log" / "test").mkdir(parents=True)
        (tmp_path / "log" / "test" / "1.jsonl").write_text(line(900, "installed", "w0", Event.END))
        HostProvisioningProvider().create(ROLE)
        assert [installation.expected_s for installation in rollouts.installations.values()] == [900, 900]

    def test_the_disk_that_a_host_chose_is_an_output_and_stays(self, rollouts: Rollouts) -> None:
        disks = {"w0": "deviceName: /dev/sda"}
        rollouts.then = lambda: setattr(rollouts.installations["w0"], "disk", disks["w0"])
        outs = HostProvisioningProvider().create(ROLE).outs or {}
        assert outs["disks"] == disks
        assert updated(outs)["disks"] == disks
        assert updated({**outs, "disks": {**disks, "gone": "x"}})["disks"] == disks

    def test_the_rendered_ignition_and_the_keyfiles_are_no_outputs(self, rollouts: Rollouts) -> None:
        ours = {"w0": "canary-1", "w1": "canary-1"}
        secrets = {"ours": ours, "keyfiles": {"w0": {"eth0.nmconnection": "canary-2"}}}
        outs = HostProvisioningProvider().create({**ROLE, **secrets}).outs or {}
        assert "canary" not in str(outs)
        kept = {name: outs[name] for name in ROLE if name != "ours"}
        assert kept == {name: value for name, value in ROLE.items() if name != "ours"}
        assert updated(outs, **secrets)["installed"] == outs["installed"], "the next update can read the outputs"

    @pytest.mark.parametrize("serves", [False, True], ids=["starting", "ready"])
    def test_a_master_is_installed_when_its_api_is_ready_by_the_payload_s_ca(
        self, rollouts: Rollouts, payload: Path, serves: bool
    ) -> None:
        with running(Options(tls=False)) as fleet:
            master = payloads.pointer("https://api-int.okd.lab.test:22623/config/master", fleet.ca)
            payload.mkdir(parents=True)
            (payload / "master.ign").write_text(master)
            digest = hashlib.sha256(master.encode()).hexdigest()
            role = {**ROLE, **of_hosts("w0"), "role": "control-plane", "stack": "prod", "payload_sha256": digest}
            HostProvisioningProvider().create(role)
            fleet.change(running=serves)
            missing = rollouts.installations["w0"].adapters.missing(Target("w0", "w0", fleet.node(0)))
            assert missing is None if serves else str(missing).startswith("its API is not ready (")

    @pytest.mark.parametrize("of", [role for role in Role if role is not Role.CONTROL_PLANE])
    def test_with_a_kubeconfig_the_api_is_asked_for_the_node_of_compute(
        self, of: Role, rollouts: Rollouts, payload: Path
    ) -> None:
        """Or of an arbiter. Nobody listens at either address; joining/test_nodes.py checks the API's answers."""
        role = {**ROLE, "role": of, "stack": "prod", "api_vip": "127.0.0.1"}
        HostProvisioningProvider().create(role)
        without = rollouts.installations["w0"].adapters.missing(Target("w0", "w0", "127.0.0.1"))
        write_kubeconfig(payload)
        HostProvisioningProvider().create(role)
        beside = rollouts.installations["w0"].adapters.missing(Target("w0", "w0", "127.0.0.1"))
        assert without == "its kubelet does not listen (Connection refused)"
        assert str(beside).startswith("the API cannot be asked through 127.0.0.1: ")

    @pytest.mark.parametrize(
        ("inputs", "approved"),
        [
            pytest.param({"role": "compute"}, ["csr-client"], id="compute"),
            pytest.param({"role": "control-plane"}, ["csr-client"], id="control-plane"),
            pytest.param({"approve_certificates": False}, [], id="off"),
        ],
    )
    def test_requests_of_awaited_hosts_are_approved_and_in_the_outputs(
        self,
        rollouts: Rollouts,
        payload: Path,
        monkeypatch: pytest.MonkeyPatch,
        inputs: dict[str, Any],
        approved: list[str],
    ) -> None:
        write_kubeconfig(payload)
        master = payloads.pointer("https://api-int.okd.lab.test:22623/config/master", authority("test-ca").pem)
        (payload / "master.ign").write_text(master)
        digest = hashlib.sha256(master.encode()).hexdigest()
        cluster = FakeCluster([client_request("w0")])
        monkeypatch.setattr(KubeApi, "by", lambda *_: cluster)
        rollouts.then = lambda: rollouts.installations["w0"].adapters.missing(Target("w0", "w0", "127.0.0.1"))
        outs = HostProvisioningProvider().create({**ROLE, "stack": "prod", "payload_sha256": digest, **inputs}).outs
        assert outs
        assert cluster.approved == approved
        assert [approval["request"] for approvals in outs["approved"].values() for approval in approvals] == approved
        assert updated(outs)["approved"] == outs["approved"], "the record is kept"

    @pytest.mark.parametrize(("role", "seen"), [("compute", None), ("control-plane", False)])
    def test_only_a_first_control_plane_may_have_no_api_yet(
        self, rollouts: Rollouts, payload: Path, monkeypatch: pytest.MonkeyPatch, role: str, seen: bool | None
    ) -> None:
        write_kubeconfig(payload)
        master = payloads.pointer("https://api-int.okd.lab.test:22623/config/master", authority("test-ca").pem)
        (payload / f"{Role(role).pool}.ign").write_text(master)
        monkeypatch.setattr(KubeApi, "by", lambda *_: FakeCluster(down=ConnectionRefusedError("refused")))
        answers = list[bool | None]()

        def meanwhile() -> None:
            answers.append(rollouts.installations["w0"].adapters.evidence.has_joined(Identity("w0", "SN-w0")))

        rollouts.then = meanwhile
        digest = hashlib.sha256(master.encode()).hexdigest()
        HostProvisioningProvider().create({**ROLE, "stack": "prod", "role": role, "payload_sha256": digest})
        assert answers == [seen]

    def _joined_without_kubeconfig(self, rollouts: Rollouts, payload: Path, inputs: dict[str, Any]) -> bool | None:
        """Return whether one of the servers is a node: there are no marks either, as on another provisioner."""
        master = payloads.pointer("https://api-int.okd.lab.test:22623/config/master", authority("test-ca").pem)
        payload.mkdir(parents=True)
        (payload / f"{Role(inputs['role']).pool}.ign").write_text(master)
        digest = hashlib.sha256(master.encode()).hexdigest()
        HostProvisioningProvider().create({**ROLE, **inputs, "stack": "prod", "payload_sha256": digest})
        return rollouts.installations["w0"].adapters.evidence.has_joined(Identity("w0", "SN-w0"))

    @pytest.mark.parametrize(
        ("inputs", "known"),
        [
            pytest.param({"role": "compute"}, {"prod"}, id="compute"),
            pytest.param({"role": "control-plane"}, {"prod"}, id="in-phase-bootstrap"),
            pytest.param({"role": "control-plane", "out_of_etcd": ["w0", "w1"]}, set(), id="in-phase-production"),
        ],
    )
    def test_without_a_kubeconfig_no_server_that_may_be_a_node_is_wiped(
        self,
        inputs: dict[str, Any],
        known: set[str],
        rollouts: Rollouts,
        payload: Path,
        monkeypatch: pytest.MonkeyPatch,
    ) -> None:
        monkeypatch.setattr(registered, "WITH_API", known)
        with pytest.raises(ProvisioningError) as caught:
            self._joined_without_kubeconfig(rollouts, payload, inputs)
        assert str(caught.value) == (
            "w0: it may be a node, so it was not wiped: the API cannot be asked without stacks/prod/payload/auth/"
            "kubeconfig. Fix: put the cluster's there, which `pulumi stack output kubeconfig --show-secrets` prints "
            "if the state has it; then run `pulumi up` again"
        )

    @pytest.mark.parametrize("role", ["compute", "control-plane"])
    def test_a_payload_that_never_had_a_kubeconfig_has_no_nodes(
        self, role: str, rollouts: Rollouts, payload: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(registered, "WITH_API", {"another"})
        assert self._joined_without_kubeconfig(rollouts, payload, {"role": role}) is False

    @pytest.mark.usefixtures("server")
    def test_two_that_join_a_control_plane_are_approved_once_both_ask(
        self, rollouts: Rollouts, payload: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        write_kubeconfig(payload)
        master = payloads.pointer("https://api-int.okd.lab.test:22623/config/master", authority("test-ca").pem)
        (payload / "master.ign").write_text(master)
        names, cluster, clock = ("w0", "w1", "w2"), FakeCluster([client_request("w1")]), FakeClock()
        monkeypatch.setattr(KubeApi, "by", lambda *_: cluster)
        monkeypatch.setattr("providers.node_joining.SYSTEM_CLOCK", clock)
        monkeypatch.setattr(EtcdSnapshots, "take", lambda _: None)
        for proof in (Departure, ControlPlane):
            monkeypatch.setattr(proof, "prove", lambda *_: None)
        monkeypatch.setattr(Departure, "missing", lambda own: f"{own.host} is no member")
        seen = list[str | None]()

        def missing(name: str) -> None:
            clock.sleep(2)
            seen.append(rollouts.installations[name].adapters.missing(Target(name, name, "127.0.0.1")))

        def meanwhile() -> None:
            missing("w1")
            cluster.requests.append(client_request("w2", name="csr-2"))
            missing("w2")
            assert cluster.approved == ["csr-2"]
            missing("w1")
            cluster.nodes += [node("w1", ready="False")]
            missing("w1")

        rollouts.then = meanwhile
        state = {**INSTALLED, "stack": "prod", "installed": {"w0": record("w0")}}
        inputs = {"role": "control-plane", "out_of_etcd": names, "snapshots": "/saved", "stack": "prod"}
        digest = hashlib.sha256(master.encode()).hexdigest()
        updated(state, **{**of_hosts(*names), **inputs, "payload_sha256": digest})
        assert sorted(cluster.approved) == ["csr-2", "csr-client"]
        assert seen == [
            "joins once w2 asks to, too",
            "there is no node w2 yet",
            "there is no node w1 yet",
            "node w1 is not ready: False",
        ]

    @pytest.mark.parametrize(
        ("place", "server"),
        [
            pytest.param({}, MediaServer, id="served-here"),
            pytest.param({"media_url": "http://192.0.2.7/isos"}, WebServer, id="elsewhere"),
        ],
    )
    def test_each_host_s_iso_is_made_of_its_own_and_fetched_where_it_is_wanted(
        self, rollouts: Rollouts, place: dict[str, str], server: type[object]
    ) -> None:
        inputs = {
            "architecture": "arm64",
            "base_iso_url": "https://mirror/live.iso",
            "deadline_s": 7200.0,
            **place,
        }
        own = {"ours": {"w0": "first", "w1": "second"}, "keyfiles": {"w1": {"eth0.nmconnection": "its network"}}}
        hosts = {"w0": host("w0"), "w1": {**host("w1"), "root_device": {"rotational": "false"}, "wipe_disks": ["S1"]}}
        HostProvisioningProvider().create({**ROLE, **inputs, **own, "hosts": hosts})
        for installation in rollouts.installations.values():
            media = installation.adapters.media
            assert isinstance(media, IsoMedia)
            assert isinstance(media.server, server)
            assert media.recipe == Recipe(
                stack="test",
                payload_name="worker",
                payload_sha256="ef",
                architecture=Architecture.ARM64,
                base_sha256="cd",
                base_url="https://mirror/live.iso",
                own_ignition={"w0": "first", "w1": "second"},
                keyfiles={"w1": {"eth0.nmconnection": "its network"}},
                hints={"w0": {"deviceName": "/dev/sda"}, "w1": {"rotational": "false"}},
                wipe_disks={"w0": (), "w1": ("S1",)},
            )
            assert installation.deadline_s == 7200

    def test_each_host_boots_by_the_method_of_its_bmc_s_address(self, rollouts: Rollouts) -> None:
        hosts = {name: host(name) for name in ("w0", "w1", "w2", "w3")}
        for name, kind in (("w0", "-virtualmedia"), ("w1", "-uefihttp"), ("w2", ""), ("w3", "")):
            hosts[name]["bmc"] = {**hosts[name]["bmc"], "address": f"redfish{kind}://192.0.2.7"}
        hosts["w3"]["bmc"]["boot_mode"] = "UEFISecureBoot"
        macs = {"w2": "52:54:00:00:00:02", "w3": "52:54:00:00:00:03"}
        inputs = {"hosts": hosts, "boot_macs": macs, "boot_server": "http://192.0.2.1"}
        HostProvisioningProvider().create({**ROLE, **inputs, "passwords": dict.fromkeys(hosts, "x")})
        installations = rollouts.installations
        procedures = {name: type(installations[name].adapters.boot_procedure) for name in hosts}
        assert procedures == {"w0": VirtualCd, "w1": HttpBoot, "w2": NetworkBoot, "w3": HttpBoot}
        media = rollouts.installations["w3"].adapters.media
        assert isinstance(media, IsoMedia)
        assert (media.recipe.ipxe_macs, media.recipe.on_provisioning) == ({"w2": macs["w2"]}, macs.keys())

    def test_an_unknown_machine_is_installed_without_a_check_of_its_identity(self, rollouts: Rollouts) -> None:
        HostProvisioningProvider().create({**ROLE, "identities": {"w1": {"uuid": BOARD, "serial": "SN-1"}}})
        assert [target.uuid for target in rollouts.targets] == ["", "sn-1"]
