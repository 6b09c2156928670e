"""HostProvisioning as a resource: the hosts that an update installs, its state, and BMCs that do not answer."""

import hashlib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar

import pytest
from pulumi.dynamic import Config, ConfigureRequest
from pydantic import SecretStr

from base import lock
from base.errors import ConfigError, OkdBaremetalError, ProvisioningError, SnapshotError
from base.log_entries import Event
from boot_media.host_isos import IsoMedia, Recipe
from boot_media.media_server import MediaServer
from boot_media.web_server import WebServer
from cluster.values.architecture import Architecture
from cluster.values.role import Role
from providers import registered
from providers.asleep import STACK
from providers.etcd.snapshot import EtcdSnapshots
from providers.host_provisioning import composition, provision
from providers.host_provisioning.composition import FENCED, RAN, mark_of
from providers.host_provisioning.departure import Departure
from providers.host_provisioning.etcd_guard import EtcdQuorum
from providers.host_provisioning.installation.adapters import Target
from providers.host_provisioning.installation.boot_procedures import HttpBoot, NetworkBoot, VirtualCd
from providers.host_provisioning.installation.engine import Installation
from providers.host_provisioning.provider import HostProvisioningProvider
from providers.host_provisioning.removal import Removal
from providers.host_provisioning.topology import ControlPlane
from providers.joining.approvals import Joining
from providers.mark_file import Ended
from testing import payloads
from testing.certificate_requests import FakeCluster, client_request, node
from testing.certificates import authority
from testing.fakes.clock import FakeClock
from testing.fakes.fleet.fleet import Fault, Options, running
from testing.kubeconfigs import write_kubeconfig
from tests.unit.cli.runs.test_timeline import line
from tests.unit.providers.host_provisioning.specs import BOARD, INSTALLED, ROLE, host, of_hosts, record, spec
from wires.api.kubernetes import KubeApi
from wires.bmc.access import BmcAccess
from wires.bmc.client import Identity
from wires.redfish.sushy_bmc import SushyBmc


@dataclass
class Rollouts:
    """Replaces `install_all`: records the hosts to install, and fails the chosen ones."""

    targets: list[Target] = field(default_factory=list)
    installations: dict[str, Installation] = field(default_factory=dict)
    failing: tuple[str, ...] = ()
    then: Callable[[], object] = bool
    """What happens meanwhile."""

    def __call__(self, installations: Mapping[str, Installation], **_: Any) -> dict[str, Exception]:
        self.targets += [installation.host for installation in installations.values()]
        self.installations.update(installations)
        for installation in installations.values():
            installation.iso_sha256, installation.seconds = "cd", {"media": 2.5}
        self.then()
        return {name: ProvisioningError("no luck") for name in self.failing if name in installations}


@pytest.fixture
def rollouts(monkeypatch: pytest.MonkeyPatch) -> Rollouts:
    made = Rollouts()
    monkeypatch.setattr(provision, "install_all", made)
    monkeypatch.setattr(composition, "SYSTEM_CLOCK", FakeClock())
    return made


def updated(olds: dict[str, Any], **changes: Any) -> dict[str, Any]:
    answer = HostProvisioningProvider().update("test-compute", olds, {**ROLE, **changes})
    outs: dict[str, Any] = answer.outs or {}
    return outs


class TestUnreachable:
    """BMCs that do not answer."""

    def test_each_failed_host_has_its_line(self) -> None:
        with pytest.raises(ProvisioningError, match="2 of 2 compute hosts were not installed") as caught:
            HostProvisioningProvider().create(ROLE)
        lines = str(caught.value).splitlines()
        assert [line.split(":")[0].strip() for line in lines[1:3]] == ["w0", "w1"]
        assert all("step 'BMC'" in line and "connection refused" in line for line in lines[1:3])
        assert "hidden" not in str(caught.value)

    def test_an_installed_host_of_a_failing_role_keeps_its_record(self) -> None:
        """The engine keeps the old state of a failed update; the host with a record is not in the error."""
        with pytest.raises(ProvisioningError, match="1 of 2 compute hosts") as caught:
            updated({**ROLE, "installed": {"w0": record("w0")}})
        assert "w0:" not in str(caught.value)

    def test_a_refresh_reports_nothing(self, capsys: pytest.CaptureFixture[str]) -> None:
        answer = HostProvisioningProvider().read("test-compute", INSTALLED)
        assert answer.outs == INSTALLED
        assert capsys.readouterr() == ("", "")


class TestInUse:
    """A server that another run works on at the same time."""

    @pytest.fixture(autouse=True)
    def _another_run(self, own_locks: None) -> Iterator[None]:
        with lock.held("http://127.0.0.1:1/redfish/v1/Systems/w0"):
            yield

    def test_a_bmc_that_another_run_uses_gets_no_request(self) -> None:
        with pytest.raises(ProvisioningError) as caught:
            HostProvisioningProvider().create(ROLE)
        first, second = str(caught.value).splitlines()[1:3]
        assert first.startswith("    w0: http://127.0.0.1:1/redfish/v1/Systems/w0: another run has worked on it")
        assert "connection refused" in second, "the others are"

    def test_a_refresh_sends_nothing_to_a_bmc_that_another_run_uses(self) -> None:
        with running(Options(tls=False)) as fleet, lock.held(f"{fleet.base(0)}/redfish/v1/Systems/1"):
            bmc = {"address": fleet.address(0), "username": "admin"}
            state = {**INSTALLED, "hosts": {"w0": {**host("w0"), "bmc": bmc}}}
            HostProvisioningProvider().read("test-compute", {**state, "passwords": {"w0": fleet.options.password}})
            assert fleet.figures().lines == []


@pytest.mark.parametrize(
    ("power", "option", "lines"),
    [
        pytest.param("Off", "on", ["compute: installed, but off: w0, w1"], id="off"),
        pytest.param("On", "on", [], id="on"),
        pytest.param("Off", "off", [], id="asleep"),
    ],
)
def test_a_refresh_warns_of_installed_hosts_that_are_off(
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    power: str,
    option: str,
    lines: list[str],
) -> None:
    """The engine gives each provider process the options of the last `up`, as tests/e2e/test_hosts.py has it."""
    monkeypatch.setattr(STACK, "sleeps", False)
    HostProvisioningProvider().configure(ConfigureRequest(Config({"site:power": option}, "site")))
    with running(Options(hosts=3, tls=False)) as fleet:
        hosts = {
            name: {**host(name), "bmc": {"address": fleet.address(index), "username": "admin"}}
            for index, name in enumerate(("w0", "w1", "w2"))
        }
        fleet.change(0, 1, power=power)
        passwords = dict.fromkeys(hosts, fleet.options.password)
        state = {**INSTALLED, "hosts": hosts, "passwords": passwords}
        assert HostProvisioningProvider().read("test-compute", state).outs == state
        assert fleet.figures(2).lines == [], "a host that is not installed is not asked"
        assert fleet.figures(0).writes == []
    assert capsys.readouterr().err.splitlines() == lines


@pytest.mark.parametrize(
    ("role", "ports"), [("control-plane", [10250, 2379]), ("compute", [10250])], ids=["holds-etcd", "compute"]
)
def test_a_refresh_warns_of_certificates_that_expire(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, role: str, ports: list[int]
) -> None:
    asked = list[int]()

    def soon(_: str, port: int) -> str | None:
        asked.append(port)
        return "expires on 2026-12-27 08:00 UTC, in 30 days" if port == ports[-1] else None

    monkeypatch.setattr("providers.host_provisioning.provider.expiry_warning", soon)
    HostProvisioningProvider().read("test", {**INSTALLED, "role": role, "installed": {"w0": record("w0")}})
    what = "etcd" if len(ports) > 1 else "kubelet"
    assert asked == ports
    assert f"w0: the certificate of its {what} expires on 2026-12-27" in capsys.readouterr().err


def test_a_refresh_ends_the_sessions_that_it_opened() -> None:
    with running(Options(tls=False)) as fleet:
        bmc = {"address": fleet.address(0), "username": "admin", "session": True}
        fleet.fault(Fault("GET", "status", status=503, times=1))
        state = {**INSTALLED, "hosts": {"w0": {**host("w0"), "bmc": bmc}}}
        HostProvisioningProvider().read("test-compute", {**state, "passwords": {"w0": fleet.options.password}})
        assert fleet.figures().writes[0] == "POST /redfish/v1/SessionService/Sessions"
        assert fleet.state().sessions == 0


@pytest.mark.parametrize(
    ("own", "reached"),
    [
        pytest.param({}, {}, id="nothing"),
        pytest.param({"ca": "its own"}, {"ca": "its own"}, id="ca"),
        pytest.param({"fingerprint": "ab"}, {"fingerprint": "ab"}, id="fingerprint"),
        pytest.param({"session": True}, {"session": True}, id="session"),
        pytest.param({"boot_mode": "Legacy"}, {"boot_mode": "Legacy"}, id="boot-mode"),
        pytest.param({"verify": False}, {"verify": False}, id="lax"),
        pytest.param({"legacy_tls": True}, {"legacy_tls": True}, id="legacy-tls"),
        pytest.param({"login": "bmc_credentials.w0"}, {"login": "bmc_credentials.w0"}, id="login"),
    ],
)
def test_a_bmc_is_reached_with_the_access_of_its_host(
    monkeypatch: pytest.MonkeyPatch, own: dict[str, Any], reached: dict[str, Any]
) -> None:
    asked: list[tuple[BmcAccess, SecretStr]] = []

    def bmc_at(access: BmcAccess, password: SecretStr, **_: Any) -> SushyBmc:
        asked.append((access, password))
        return SushyBmc(access.changed(ca="", fingerprint="", session=False), password)

    monkeypatch.setattr("wires.redfish.sushy_bmc.SushyBmc", bmc_at)
    with pytest.raises(OkdBaremetalError):
        HostProvisioningProvider().create({**ROLE, "ca": "of all", "hosts": {"w0": host("w0", **own)}})
    ((access, password),) = asked
    wanted = {"address": host("w0")["bmc"]["address"], "username": "admin", "ca": "of all", "fingerprint": ""}
    assert access.model_dump() == {
        **wanted,
        "verify": True,
        "legacy_tls": False,
        "session": False,
        "boot_mode": "UEFI",
        "boot_mac": "",
        "login": "",
        **reached,
    }
    assert password.get_secret_value() == "hidden"


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

    def test_one_that_joins_is_out_of_the_cluster_before_it_is_wiped(
        self, role: Role, rollouts: Rollouts, saved: list[Any]
    ) -> None:
        state = {**INSTALLED, "stack": "prod", "installed": {"w0": record("w0")}}
        changes = {**self.CHANGES, "reinstall": {}, "role": role, "payload_sha256": saved[0]}
        updated(state, **changes)
        proofs = ["topology for w1", "member"]
        assert (saved[1:], [target.name for target in rollouts.targets]) == (proofs, ["w1"])
        assert rollouts.installations["w1"].adapters.take_out
        updated(state, **{**changes, "out_of_etcd": []})
        assert saved[1:] == proofs, "in phase bootstrap, nothing runs that it could be out of"

    def test_one_that_an_interrupted_run_has_added_is_only_adopted(
        self, role: Role, rollouts: Rollouts, saved: list[Any], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr("providers.host_provisioning.composition.runs_from_disk", lambda *_: True)
        state = {**INSTALLED, "stack": "prod", "installed": {"w0": record("w0")}}
        updated(state, **{**self.CHANGES, "reinstall": {}, "role": role, "payload_sha256": saved[0]})
        assert saved[1:] == []
        assert [target.untouchable for target in rollouts.targets] == [RAN]
        assert rollouts.installations["w1"].adapters.take_out, "by which it is up only as a member of etcd"

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
        """Or of an arbiter. Nobody listens at either address; test_nodes.py checks the API's answers."""
        role = {**ROLE, "role": of, "stack": "prod", "api_vip": "127.0.0.1"}
        HostProvisioningProvider().create(role)
        without = rollouts.installations["w0"].adapters.missing(Target("w0", "w0", "127.0.0.1"))
        write_kubeconfig(payload)
        HostProvisioningProvider().create(role)
        beside = rollouts.installations["w0"].adapters.missing(Target("w0", "w0", "127.0.0.1"))
        assert str(without).startswith("its kubelet does not listen (ConnectionRefusedError")
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
            "kubeconfig. Fix: put this cluster's there, which `pulumi stack output kubeconfig --show-secrets` prints "
            "if the state has it; then run `pulumi up` again"
        )

    @pytest.mark.parametrize("role", ["compute", "control-plane"])
    def test_a_payload_that_never_had_a_kubeconfig_has_no_nodes(
        self, role: str, rollouts: Rollouts, payload: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(registered, "WITH_API", {"another"})
        assert self._joined_without_kubeconfig(rollouts, payload, {"role": role}) is False

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


class TestUpdate:
    def test_an_installed_host_is_never_asked_again(self) -> None:
        olds = {**INSTALLED, "installed": {**INSTALLED["installed"], "gone": record("gone")}}
        changes = {"base_iso_sha256": "other", "payload_sha256": "other", "ignition_sha256": {"w0": "2", "w1": "2"}}
        outs = updated({**olds, "steps": {"w0": {"media": 1.5}, "gone": {"media": 1.0}}}, **changes)
        assert outs["installed"] == INSTALLED["installed"]
        assert (outs["steps"], outs["requests"]) == ({"w0": {"media": 1.5}}, {"w0": 9})

    def test_servers_that_have_changed_places_are_not_wiped(self, rollouts: Rollouts) -> None:
        with pytest.raises(ConfigError) as error:
            updated(INSTALLED, identities={"w0": {"uuid": "w1"}, "w1": {"uuid": "w0"}})
        fix = "Fix: give each host the bmc.address and the consent of its own machine"
        for name, owner in (("w0", "w1"), ("w1", "w0")):
            assert f"{name}: its machine is installed as {owner}. {fix}" in str(error.value)
        assert rollouts.targets == []

    def test_only_an_added_host_is_installed(self, rollouts: Rollouts) -> None:
        outs = updated(INSTALLED, **of_hosts("w0", "w1", "w2"))
        assert [target.name for target in rollouts.targets] == ["w2"]
        assert list(outs["installed"]) == ["w0", "w1", "w2"]

    @pytest.mark.parametrize(
        ("before", "listed", "reinstalled"),
        [
            pytest.param({}, {"w0": "SN-w0"}, {"w0": "SN-w0"}, id="new"),
            pytest.param({"w0": "w0"}, {"w0": "SN-w0"}, {"w0": "SN-w0"}, id="another-value"),
            pytest.param({"w0": "SN-w0"}, {"w0": "SN-w0"}, {}, id="left-in"),
            pytest.param({"w0": "SN-w0"}, {}, {}, id="taken-out"),
        ],
    )
    def test_each_line_of_reinstall_takes_effect_once(
        self, rollouts: Rollouts, before: dict[str, str], listed: dict[str, str], reinstalled: dict[str, str]
    ) -> None:
        outs = updated({**INSTALLED, "reinstall": before}, reinstall=listed)
        assert {target.name: target.uuid for target in rollouts.targets if target.reinstall} == reinstalled
        assert len(rollouts.targets) == len(reinstalled)
        assert {name: installed["iso_sha256"] for name, installed in outs["installed"].items()} == {
            "w0": "cd" if reinstalled else "ab",
            "w1": "ab",
        }
        assert outs["requests"] == {"w0": 0 if reinstalled else 9}

    def test_reinstall_does_not_apply_to_a_host_without_a_record(self, rollouts: Rollouts) -> None:
        HostProvisioningProvider().create({**ROLE, "reinstall": {"w0": "w0"}})
        updated({**INSTALLED, "installed": {"w1": record("w1")}}, reinstall={"w0": "w0"})
        assert [(target.name, target.reinstall) for target in rollouts.targets] == [
            ("w0", False),
            ("w1", False),
            ("w0", False),
        ]

    def test_the_error_of_a_partial_reinstall_names_the_lines_to_remove(self, rollouts: Rollouts) -> None:
        rollouts.failing = ("w1",)
        with pytest.raises(
            ProvisioningError, match=r"remove from `reinstall` the hosts that are reinstalled already: w0$"
        ):
            updated(INSTALLED, reinstall={"w0": "w0", "w1": "w1"})

    def test_the_error_of_an_update_without_a_reinstall_does_not_mention_it(self, rollouts: Rollouts) -> None:
        rollouts.failing = ("w1",)
        with pytest.raises(ProvisioningError, match=r"which retries those hosts$"):
            updated({**INSTALLED, "installed": {}}, reinstall={"w0": "w0"})

    def test_a_machine_with_a_shared_uuid_is_identified_by_its_serial(self, rollouts: Rollouts) -> None:
        machine = {"uuid": BOARD, "serial": "SN-0"}
        state = {**INSTALLED, **of_hosts("w0"), "installed": {"w0": record("sn-0")}}
        only = {**of_hosts("w0"), "identities": {"w0": machine}}
        assert updated(state, **only)["installed"] == {"w0": record("sn-0")}
        replaced = updated(state, **only | {"identities": {"w0": {**machine, "serial": "SN-9"}}})
        assert replaced["installed"]["w0"]["uuid"] == "sn-9"
        assert [target.uuid for target in rollouts.targets] == ["sn-9"]


def test_a_preview_names_the_hosts_that_are_wiped_and_those_untouched(capsys: pytest.CaptureFixture[str]) -> None:
    news = {**ROLE, "base_iso_sha256": "other", "reinstall": {"w0": "w0"}}
    diff = HostProvisioningProvider().diff("test-compute", INSTALLED, news)
    assert (diff.changes, diff.replaces) == (None, [])
    assert capsys.readouterr().err.splitlines() == [
        "compute: will be wiped and installed again, as `reinstall` requests: w0",
        "compute: installed already, and not touched by this change: w1",
    ]


def test_a_preview_refuses_another_bootstrap_vm_for_servers_that_stay(monkeypatch: pytest.MonkeyPatch) -> None:
    """All of them may be off, and their marks be lost (simulation, seed 50191)."""
    monkeypatch.setattr(registered, "NEW_VM", {host["address"] for host in INSTALLED["hosts"].values()})
    with pytest.raises(ConfigError) as error:
        HostProvisioningProvider().diff("test", INSTALLED, {**ROLE, "reinstall": {"w0": "w0"}})
    what = "its bootstrap VM would be built anew, as another cluster than that of w1"
    assert f"compute: {what}. Fix: revert" in str(error.value)
    HostProvisioningProvider().diff("test", INSTALLED, {**ROLE, "reinstall": {"w0": "w0", "w1": "w1"}})


@pytest.fixture
def taken_out(payload: Path, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The hosts that are taken out of the cluster; test_removal.py checks how. That of `w9` fails."""
    write_kubeconfig(payload)
    names: list[str] = []

    def take_out(own: Removal) -> None:
        if own.host == "w9":
            raise ProvisioningError("not drained", where=own.host, fix="wait")
        names.append(f"{own.host} {own.uuid} {own.deadline_s:g}")

    monkeypatch.setattr(Removal, "take_out", take_out)
    monkeypatch.setattr(registered, "UNDRAINED", {"w1", "w9"})
    return names


class TestRemoval:
    """Hosts that leave the install-config of a cluster in production."""

    def test_they_are_out_before_another_is_installed(self, rollouts: Rollouts, taken_out: list[str]) -> None:
        rollouts.then = lambda: taken_out.append("installs")
        updated({**INSTALLED, "stack": "prod"}, **of_hosts("w0", "w2"), stack="prod", deadline_s=7)
        assert taken_out == ["w1 w1 7", "installs"]
        assert [name for name in ("w1", "w9") if registered.may_have_pods(name)] == ["w9"]

    def test_one_that_stays_fails_the_update_and_the_others_are_out(
        self, rollouts: Rollouts, taken_out: list[str]
    ) -> None:
        state = {**INSTALLED, **of_hosts("w0", "w1", "w9"), "stack": "prod"}
        with pytest.raises(ProvisioningError) as error:
            updated(state, **of_hosts("w0", "w2"), stack="prod")
        what = "1 of 2 compute hosts were not taken out of the cluster:\n    w9: not drained. Fix: wait"
        assert str(error.value) == f"{what}. Fix: do what each line says"
        assert (taken_out, rollouts.targets) == (["w1 w1 0"], [])
        assert [name for name in ("w1", "w9") if registered.may_have_pods(name)] == ["w9"]

    def test_without_a_kubeconfig_they_stay(self, rollouts: Rollouts, payload: Path) -> None:
        with pytest.raises(OkdBaremetalError, match=r"auth/kubeconfig: missing, but `platform.baremetal.hosts` asks"):
            updated({**INSTALLED, "stack": "prod"}, **of_hosts("w0"), stack="prod")

    def test_a_destroy_drains_nothing(self, taken_out: list[str]) -> None:
        HostProvisioningProvider().delete("test-compute", {**INSTALLED, "stack": "prod"})
        assert taken_out == []

    def test_a_preview_names_them(self, capsys: pytest.CaptureFixture[str]) -> None:
        HostProvisioningProvider().diff("test-compute", INSTALLED, {**ROLE, **of_hosts("w0")})
        line = "compute: will be cordoned and drained, then switched off, and their nodes deleted: w1"
        assert line in capsys.readouterr().err.splitlines()


class TestMarks:
    """What the provisioner remembers of installations, after the state knows them no more."""

    @pytest.fixture
    def marks(self, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Callable[[], list[str]]:
        monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
        role, ended = spec(), Ended(Identity("c0ffee00-0000-4000-8000-000000000001", "SN-1"), "cd")
        for name in role.hosts:
            mark_of(role, name).set(ended)
        return lambda: [name for name in role.hosts if mark_of(role, name).read() == ended]

    def test_destroy_forgets_all(self, marks: Callable[[], list[str]]) -> None:
        assert marks() == ["w0", "w1"]
        HostProvisioningProvider().delete("test-compute", INSTALLED)
        assert marks() == []

    def test_an_update_forgets_a_host_that_leaves_the_stack(
        self, marks: Callable[[], list[str]], taken_out: list[str]
    ) -> None:
        updated({**INSTALLED, "stack": "prod"}, **of_hosts("w0"), stack="prod")
        assert marks() == ["w0"]
