"""Servers of the control plane that hold etcd: who is asked before one is wiped, and which are never wiped."""

import hashlib
from pathlib import Path
from typing import Any, ClassVar

import pytest

from base.errors import BmcTransientError, ConfigError, OkdBaremetalError, ProvisioningError, SnapshotError
from cluster.values.role import Role
from providers.etcd.snapshot import EtcdSnapshots
from providers.host_provisioning.composition import FENCED, RAN
from providers.host_provisioning.departure import Departure
from providers.host_provisioning.etcd_guard import EtcdQuorum
from providers.host_provisioning.provider import HostProvisioningProvider
from providers.host_provisioning.topology import ControlPlane
from providers.joining.approvals import Joining
from testing import payloads
from testing.certificate_requests import FakeCluster, node
from testing.certificates import authority
from testing.fakes.bmc import FakeBmc
from testing.kubeconfigs import write_kubeconfig
from tests.unit.providers.host_provisioning.rollouts import Rollouts, updated
from tests.unit.providers.host_provisioning.specs import INSTALLED, ROLE, host, record
from wires.api.kubernetes import KubeApi

UUID = "c0ffee00-0000-4000-8000-000000000001"
BY_HTTP = "redfish-uefihttp+http://127.0.0.1:1/redfish/v1/Systems/w1"


@pytest.mark.parametrize("role", [role for role in Role if role.holds_etcd])
class TestOutOfEtcd:
    """A server with a copy of etcd in production; test_departure.py checks how it leaves."""

    CHANGES: ClassVar[dict[str, Any]] = {
        "reinstall": {"w0": "SN-w0"},
        "out_of_etcd": ["w0", "w1"],
        "stack": "prod",
    }

    def test_without_a_kubeconfig_it_is_not_wiped(self, role: Role, rollouts: Rollouts, payload: Path) -> None:
        with pytest.raises(OkdBaremetalError, match=r"auth/kubeconfig: missing, but `reinstall.w0` asks OKD with it"):
            updated({**INSTALLED, "stack": "prod"}, **self.CHANGES, role=role)
        assert rollouts.targets == []

    def test_it_is_not_wiped_while_the_cluster_does_not_answer(
        self, role: Role, rollouts: Rollouts, payload: Path
    ) -> None:
        write_kubeconfig(payload)
        with pytest.raises(ProvisioningError, match=r"w0: not wiped: the API cannot be asked through 127"):
            updated({**INSTALLED, "stack": "prod"}, **self.CHANGES, role=role, api_vip="127.0.0.1")
        assert rollouts.targets == []

    def test_a_reinstall_line_that_took_effect_needs_no_api(
        self, role: Role, rollouts: Rollouts, payload: Path
    ) -> None:
        outs = updated({**INSTALLED, **self.CHANGES, "role": role}, **self.CHANGES, role=role)
        assert outs["installed"].keys() == {"w0", "w1"}
        assert rollouts.targets == []

    @pytest.fixture
    def saved(self, rollouts: Rollouts, payload: Path, monkeypatch: pytest.MonkeyPatch) -> list[Any]:
        """The payload's digest; then, in order: what etcd takes, and can spare; the folder, and how many run."""
        write_kubeconfig(payload)
        master = payloads.pointer("https://api-int.okd.lab.test:22623/config/master", authority("test-ca").pem)
        for role in Role:
            (payload / f"{role.pool}.ign").write_text(master)
        asked: list[Any] = [hashlib.sha256(master.encode()).hexdigest()]
        monkeypatch.setattr(Departure, "prove", lambda _: asked.append("member"))
        monkeypatch.setattr(ControlPlane, "prove", lambda _, host: asked.append(f"topology for {host}"))
        monkeypatch.setattr(EtcdSnapshots, "take", lambda own: asked.append((own.store, len(rollouts.targets))))
        return asked

    def test_etcd_is_saved_once_it_can_spare_it_and_before_it_is_wiped(
        self, role: Role, rollouts: Rollouts, saved: list[Any]
    ) -> None:
        updated(
            {**INSTALLED, "stack": "prod"}, **self.CHANGES, role=role, snapshots="/saved", payload_sha256=saved[0]
        )
        assert saved[1:] == ["member", (Path("/saved/prod"), 0)]
        assert [target.name for target in rollouts.targets] == ["w0"]

    def test_without_a_folder_etcd_is_not_saved(self, role: Role, rollouts: Rollouts, saved: list[Any]) -> None:
        updated({**INSTALLED, "stack": "prod"}, **self.CHANGES, role=role, payload_sha256=saved[0])
        assert (saved[1:], len(rollouts.targets)) == (["member"], 1)

    def joined(self, role: Role, saved: list[Any], **changes: Any) -> None:
        """Have w1 join w0."""
        state = {**INSTALLED, "stack": "prod", "installed": {"w0": record("w0")}}
        known = {**self.CHANGES, "reinstall": {}, "role": role, "payload_sha256": saved[0], "deadline_s": 600.0}
        updated(state, **{**known, **changes})

    def test_one_that_joins_is_out_of_the_cluster_before_it_is_wiped(
        self, role: Role, rollouts: Rollouts, saved: list[Any], server: FakeBmc
    ) -> None:
        self.joined(role, saved)
        proofs = ["topology for w1", "member"]
        assert (saved[1:], [target.name for target in rollouts.targets]) == (proofs, ["w1"])
        assert rollouts.installations["w1"].adapters.take_out
        self.joined(role, saved, out_of_etcd=[])
        assert saved[1:] == proofs, "in phase bootstrap, nothing runs that it could be out of"

    @pytest.mark.parametrize("failures", [0, 1, 5])
    def test_one_that_an_interrupted_run_has_added_is_only_adopted(
        self, role: Role, rollouts: Rollouts, saved: list[Any], server: FakeBmc, failures: int
    ) -> None:
        """Its etcd answers, so the proof before a wipe would have a person switch a member that works off."""
        server.run_from_disk()
        left = iter(range(failures))

        def fail(request: str) -> None:
            if request == "power" and next(left, None) is not None:
                raise BmcTransientError("cannot read the power: HTTP 503", where=server.url)

        server.fault = fail
        self.joined(role, saved)
        assert saved[1:] == []
        assert [target.untouchable for target in rollouts.targets] == [RAN]
        assert rollouts.installations["w1"].adapters.take_out, "by which it is up only as a member of etcd"

    def test_one_whose_bmc_does_not_say_whether_it_runs_is_not_touched(
        self, role: Role, rollouts: Rollouts, saved: list[Any], server: FakeBmc
    ) -> None:
        def fail(request: str) -> None:
            raise BmcTransientError(f"cannot read the {request}: no connection", where=server.url)

        server.fault = fail
        with pytest.raises(ProvisioningError) as caught:
            self.joined(role, saved)
        line = str(caught.value)
        assert line.startswith("w1 (https://bmc/redfish/v1/Systems/1): not touched, as it may run from its disk: ")
        assert "cannot read the power: no connection" in line
        assert "switch" not in caught.value.fault.fix
        assert (saved[1:], rollouts.targets, server.writes) == ([], [], [])

    @pytest.mark.parametrize(
        ("nodes", "is_adopted"),
        [
            pytest.param([node("w1", uuid=UUID)], True, id="it"),
            pytest.param([node("w1", uuid=UUID, ready="False")], True, id="not-ready"),
            pytest.param([node("w1", uuid=UUID.replace("c0", "d1"))], False, id="another-machine"),
        ],
    )
    def test_one_that_boots_from_the_network_is_only_adopted_as_a_node(  # noqa: PLR0917
        self,
        role: Role,
        rollouts: Rollouts,
        saved: list[Any],
        server: FakeBmc,
        nodes: list[dict[str, Any]],
        is_adopted: bool,
        monkeypatch: pytest.MonkeyPatch,
    ) -> None:
        """Its BMC shows the same while it is being installed."""
        server.run_from_disk()
        monkeypatch.setattr(KubeApi, "by", lambda *_: FakeCluster(nodes=nodes))
        own = {"identities": {**ROLE["identities"], "w1": {"uuid": UUID, "serial": "SN-w1"}}}
        self.joined(role, saved, hosts={"w0": host("w0"), "w1": host("w1", address=BY_HTTP)}, **own)
        assert [target.untouchable for target in rollouts.targets] == [RAN if is_adopted else None]
        assert ("member" in saved) is not is_adopted

    def test_in_phase_bootstrap_one_that_boots_from_the_network_asks_no_api(
        self, role: Role, rollouts: Rollouts, saved: list[Any], server: FakeBmc, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        server.run_from_disk()
        monkeypatch.setattr(KubeApi, "by", lambda *_: FakeCluster(down=ConnectionRefusedError("no")))
        hosts = {"w0": host("w0"), "w1": host("w1", address=BY_HTTP)}
        self.joined(role, saved, out_of_etcd=[], hosts=hosts)
        assert [target.untouchable for target in rollouts.targets] == [None]

    def test_what_it_asked_for_before_its_wipe_is_forgotten(
        self, role: Role, rollouts: Rollouts, saved: list[Any], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        forgotten: list[str] = []
        monkeypatch.setattr(Joining, "forget", lambda _, host: forgotten.append(host))
        monkeypatch.setattr(Departure, "take_out", lambda _: iter([5.0]))

        def wipe() -> None:
            take_out = rollouts.installations["w0"].adapters.take_out
            assert take_out
            forgotten.extend(map(str, take_out()))

        rollouts.then = wipe
        updated({**INSTALLED, "stack": "prod"}, **self.CHANGES, role=role, payload_sha256=saved[0])
        assert forgotten == ["5.0", "w0"]

    def test_without_a_snapshot_it_is_not_wiped(
        self, role: Role, rollouts: Rollouts, saved: list[Any], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        def refuse(_: object) -> None:
            raise SnapshotError("not saved", where="etcd", fix="have the API answer", details=["no answer"])

        monkeypatch.setattr(EtcdSnapshots, "take", refuse)
        changes = {**self.CHANGES, "role": role, "snapshots": "/saved", "payload_sha256": saved[0]}
        with pytest.raises(SnapshotError) as error:
            updated({**INSTALLED, "stack": "prod"}, **changes)
        without = "to have `pulumi up` go on without a snapshot, remove the option `snapshots`"
        assert f"etcd: not saved\n    no answer. Fix: have the API answer; {without}" in str(error.value)
        assert rollouts.targets == []


class TestFenced:
    """Two servers that fence each other; test_etcd_guard.py checks the API's answers."""

    ROLE: ClassVar[dict[str, Any]] = {**ROLE, "role": "control-plane", "fenced": True, "stack": "prod"}

    @pytest.fixture
    def master(self, payload: Path) -> dict[str, Any]:
        """Return the inputs, with the payload and the kubeconfig that they name."""
        write_kubeconfig(payload)
        text = payloads.pointer("https://api-int.okd.lab.test:22623/config/master", authority("test-ca").pem)
        (payload / "master.ign").write_text(text)
        return {**self.ROLE, "payload_sha256": hashlib.sha256(text.encode()).hexdigest()}

    @pytest.mark.parametrize("fences", [False, True], ids=["before", "after"])
    def test_they_are_only_adopted_once_they_run_etcd(
        self, rollouts: Rollouts, master: dict[str, Any], monkeypatch: pytest.MonkeyPatch, fences: bool
    ) -> None:
        monkeypatch.setattr(EtcdQuorum, "fences", lambda _: fences)
        HostProvisioningProvider().create(master)
        assert [target.untouchable for target in rollouts.targets] == [FENCED if fences else None] * 2

    @pytest.mark.parametrize("out_of_etcd", [[], ["w0", "w1"]], ids=["bootstrap", "production"])
    def test_they_are_not_touched_while_etcd_cannot_be_asked(
        self, rollouts: Rollouts, master: dict[str, Any], out_of_etcd: list[str]
    ) -> None:
        with pytest.raises(ProvisioningError, match=r"etcd cannot be asked through 127\.0\.0\.1") as caught:
            HostProvisioningProvider().create({**master, "api_vip": "127.0.0.1", "out_of_etcd": out_of_etcd})
        assert ("run `pulumi destroy`" in caught.value.fault.fix) is not bool(out_of_etcd)
        assert rollouts.targets == []

    def test_without_a_kubeconfig_they_are_not_touched(
        self, rollouts: Rollouts, master: dict[str, Any], payload: Path
    ) -> None:
        (payload / "auth" / "kubeconfig").unlink()
        with pytest.raises(OkdBaremetalError, match=r"auth/kubeconfig: missing, but `controlPlane.fencing` asks OKD"):
            HostProvisioningProvider().create(master)
        assert rollouts.targets == []

    @pytest.mark.parametrize(
        ("change", "line"),
        [
            pytest.param({"reinstall": {"w0": "SN-w0"}}, "reinstall.w0: its peer fences", id="again"),
            pytest.param(
                {"identities": {"w0": {"uuid": "other", "serial": "SN-9"}, "w1": {"uuid": "w1", "serial": "SN-w1"}}},
                "consent.w0: its peer fences the machine that was installed",
                id="replaced",
            ),
        ],
    )
    def test_none_of_them_is_wiped_again(
        self,
        rollouts: Rollouts,
        master: dict[str, Any],
        monkeypatch: pytest.MonkeyPatch,
        change: dict[str, Any],
        line: str,
    ) -> None:
        monkeypatch.setattr(EtcdQuorum, "fences", lambda _: False)
        with pytest.raises(ConfigError, match=line):
            updated({**INSTALLED, **master}, **{**master, **change})
        assert rollouts.targets == []
