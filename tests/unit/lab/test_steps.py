"""The steps of the rehearsal: what each proves holds for evidence as it should be, and fails for other evidence."""

import ssl
from argparse import Namespace
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from unittest.mock import Mock, create_autospec

import pytest

from base.errors import HandoffUnsafeError
from base.log_entries import Event
from cli.runs import chart
from lab import site as lab_site
from lab.disks import wanted_of
from lab.inventory import STACK, Site, load_site
from lab.nics import machine_mac
from lab.rehearsal import __main__ as whole
from lab.rehearsal import servers, steps
from lab.rehearsal.etcd_operator import EtcdOperator
from lab.rehearsal.kube import Operator
from lab.rehearsal.network_boot import NetworkBootProofs
from lab.rehearsal.objects import ObjectProofs
from lab.rehearsal.platform import PlatformProofs
from lab.rehearsal.proofs import Proofs
from lab.rehearsal.provisioner import Provisioner
from lab.rehearsal.report import RehearsalError, Report
from lab.rehearsal.servers import BOOTED_BY
from lab.rehearsal.stack import Outcome, Stack
from lab.rehearsal.status import StatusProofs
from lab.rehearsal.steps import EXPECTED_PREVIEW, TEMPLATES_OF_ALL_ROLES, Rehearsal
from lab.rehearsal.writer import Writer
from providers.host_provisioning.installation.shown_steps import INSTALLED
from providers.vip_handoff.engine import NOT_ASKED
from providers.vip_handoff.states import ENDS, State
from testing import plans
from testing.calls import said

PLAN = plans.plan()
SERVERS, VM = PLAN.servers, PLAN.bootstrap.name
NODE = PLAN.control_plane[-1]
PASSWORD = SERVERS[0].bmc.password.get_secret_value()
DIGEST = "5eed" * 16
READY = {server.name: "2026-11-22T22:27:15Z" for server in SERVERS}
SETTINGS = {server.name: ("None", "UEFI", False, None) for server in SERVERS}


def refusal(state: State, node: str) -> str:
    """Return what Pulumi prints of a handoff that ends in a state because of a node."""
    error = HandoffUnsafeError(f"at {state}: the API of {node} is not ready; {ENDS[State.REFUSED]}")
    return f"    error: {type(error).__name__}: {error}\n"


@dataclass
class Evidence:
    """What the rehearsal finds on the provisioner, and in its stack."""

    outcome: Outcome = field(default_factory=lambda: Outcome(1, refusal(State.GATE, NODE.name)))
    changes: dict[str, str] = field(default_factory=dict)
    """By resource, as a preview shows them."""
    drifts: str = ""
    """The command that must change nothing, and finds a change."""
    writes: list[int] = field(default_factory=lambda: [7, 7])
    """The number of writes to BMCs, at each question."""
    resources: list[int] = field(default_factory=lambda: [0, 0])
    running: set[str] = field(default_factory=set)
    domains: set[str] = field(default_factory=set)
    volumes: set[str] = field(default_factory=set)
    settings: dict[str, Any] = field(default_factory=lambda: dict(SETTINGS))
    lost: set[str] = field(default_factory=set)
    state: str = "{}"
    log: list[dict[str, Any]] = field(
        default_factory=lambda: [
            {"event": Event.END, "step": INSTALLED, "machine": server.name, "text": ""} for server in SERVERS
        ]
    )
    disks: dict[str, str] = field(
        default_factory=lambda: {
            server.name: f"{wanted_of(server.root_device_hints.given).label} model: QEMU" for server in SERVERS
        }
    )
    clients: dict[str, Any] = field(
        default_factory=lambda: {
            "connects_tried": 527,
            "connects_failed": 0,
            "requests_tried": 100,
            "requests_failed_after_retry": 0,
            "connects_broken_in_flight": 0,
            "requests_broken_in_flight": 0,
            "problems": [],
        }
    )
    completion: str = NOT_ASKED
    boots: dict[str, list[str]] = field(
        default_factory=lambda: {server.name: [server.boot_mode] * 2 for server in SERVERS}
    )
    addresses: dict[str, list[str]] = field(
        default_factory=lambda: {
            server.name: [f" {address}/24" for address in server.addresses] for server in SERVERS
        }
    )
    leases: str = ""
    slowest_s: float = 1.0
    """Of all writes."""
    ready: dict[str, str] = field(default_factory=lambda: dict(READY))
    operator: Operator | None = None
    """The access to a real Kubernetes."""
    calls: Mock = field(default_factory=Mock)
    """Has what a step calls of all that proves."""

    def console(self, name: str) -> list[str]:
        """Return what a machine has said."""
        booted = [f"okd-lab: 1.00{BOOTED_BY}{mode}" for mode in self.boots.get(name, [])]
        return [*booted, *self.addresses.get(name, [])]


@pytest.fixture(scope="module")
def site() -> Site:
    return load_site()


@pytest.fixture
def rehearse(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, site: Site) -> Callable[[Evidence], Rehearsal]:
    """Return a function that makes a rehearsal which finds this evidence."""

    def make(found: Evidence) -> Rehearsal:
        stack, provisioner = create_autospec(Stack, instance=True), create_autospec(Provisioner, instance=True)
        stack.name, stack.project = STACK, tmp_path
        for name in TEMPLATES_OF_ALL_ROLES.values():
            (tmp_path / "assets" / name).parent.mkdir(parents=True, exist_ok=True)
            (tmp_path / "assets" / name).touch()

        def run(*words: str, **_: Any) -> str:
            if found.drifts == words[0] and "--expect-no-changes" in words:
                raise RehearsalError(f"`pulumi {' '.join(words)}` ended with 255")
            return ""

        stack.run.side_effect, stack.try_run.return_value = run, found.outcome
        stack.preview.return_value, stack.resources.side_effect = found.changes, found.resources
        stack.state_text.return_value, stack.log_lines.return_value = found.state, found.log
        stack.iso_digests.return_value = {"okd-master-0": DIGEST}
        stack.outputs.return_value = {
            "hosts": {name: {"disk": disk} for name, disk in found.disks.items()},
            "handoff": {"clients": found.clients, "gap_ms": 20, "completion": found.completion},
        }
        provisioner.running.return_value, provisioner.domains.return_value = found.running, found.domains
        provisioner.volumes.return_value, provisioner.bmc_settings.return_value = found.volumes, found.settings
        provisioner.console.side_effect = found.console
        provisioner.memory_mib.return_value = 2000
        proofs = create_autospec(Proofs, instance=True)
        proofs.node_to_freeze.return_value, proofs.nodes_are_ready.return_value = NODE, found.ready
        proofs.etcd_operator.return_value = create_autospec(EtcdOperator, instance=True)
        writer = create_autospec(Writer, instance=True, slowest_s=found.slowest_s, problems=[])
        writer.acknowledged, writer.retries, writer.lost.return_value = ["1"], 0, found.lost
        (tmp_path / "leases").write_text(found.leases)
        monkeypatch.setattr(servers, "DNS", tmp_path)
        monkeypatch.setattr(lab_site, "bmc_writes", iter(found.writes).__next__)
        monkeypatch.setattr(lab_site, "stop_provisioner_services", lambda: None)
        for name in ("refuse_all", "refuse"):
            monkeypatch.setattr(steps, name, getattr(found.calls, name))
        for name in ("text", "svg"):
            monkeypatch.setattr(chart, name, lambda _: "")
        for name, mock in {
            "proofs": proofs,
            "network_boot": create_autospec(NetworkBootProofs, instance=True),
            "platform": create_autospec(PlatformProofs, instance=True),
            "status": create_autospec(StatusProofs, instance=True),
            "writer": writer,
            "operator": found.operator,
        }.items():
            monkeypatch.setattr(Rehearsal, name, mock)
            if mock is not found.operator:
                found.calls.attach_mock(mock, name)
        for of, name in ((provisioner, "suspend"), (provisioner, "resume"), (stack, "try_run")):
            found.calls.attach_mock(getattr(of, name), name)
        return Rehearsal(
            provisioner, stack, PLAN, Report(STACK, folder=tmp_path), site, dict(SETTINGS), ready=dict(READY)
        )

    return make


def planned() -> dict[str, str]:
    """Return the changes that the preview of production has to show."""
    changes = dict[str, str]()
    for words in map(str.split, EXPECTED_PREVIEW[STACK].split(", ")):
        operation, kind = words[0], words[-1]
        count = int(words[1]) if len(words) > 2 else 1
        changes |= {f"{kind}::{operation}-{number}": operation for number in range(count)}
    return changes


RUNS = {"running": {VM}}
KUBERNETES = {"operator": Operator("", ssl.create_default_context())}
STEPS: dict[str, dict[str, Any]] = {
    "kubernetes/bootstrap": KUBERNETES,
    "kubernetes/gate_refuses": RUNS | KUBERNETES,
    "kubernetes/production": {**KUBERNETES, "completion": "complete"},
    "mistakes_are_refused": {},
    "bootstrap": {},
    "preview": {"changes": planned()},
    "gate_refuses": RUNS,
    "production": {},
    "nothing_changes": {},
    "secrets": {},
    "serves_without_provisioner": {},
    "mistaken_destroy_is_refused": {"resources": [40, 40]},
    "destroy": {},
}
"""Each step, with what it then has to find."""
PRODUCTION = """
        proofs.hand_over …
        proofs.control_plane_serves
        proofs.ingress_serves
        proofs.first_boots /config/worker … …
        network_boot.fetched_once
        proofs.clocks_follow_the_time_servers …
        proofs.bootstrap_left_etcd
        writer.stop
        writer.lost
        proofs.nodes_are_ready … …
        platform.has_no_second_owner
        status.finds_nothing_wrong in production
"""
GATE = f"""
        proofs.node_to_freeze
        suspend {NODE.name}
        try_run up --yes --skip-preview
        proofs.serves_while_hung {NODE.name}
        resume {NODE.name}
"""
CALLS = {
    "kubernetes/bootstrap": """
        writer.start
        proofs.vip_left_the_bootstrap
        proofs.nodes_are_ready … …
        proofs.first_boots /config/master … …
        proofs.site_dns_has_only_needed_names 192.168.111.1
        platform.masks_the_payload
        proofs.etcd_operator …
        proofs.etcd_operator().start
        status.finds_nothing_wrong in phase bootstrap
    """,
    "kubernetes/gate_refuses": f"{GATE}proofs.serves_again",
    "kubernetes/production": PRODUCTION,
    "mistakes_are_refused": "refuse_all … …",
    "bootstrap": """
        proofs.bootstrap_serves
        proofs.control_plane_joined
        proofs.first_boots /config/master … …
        proofs.site_dns_has_only_needed_names 192.168.111.1
        platform.masks_the_payload
        status.finds_nothing_wrong in phase bootstrap
        writer.start
    """,
    "preview": "",
    "gate_refuses": f"{GATE}proofs.bootstrap_serves",
    "production": PRODUCTION.replace("proofs.nodes_are_ready … …\n", ""),
    "nothing_changes": "refuse … … back to phase bootstrap a cluster in production cannot go back to bootstrap",
    "secrets": "",
    "serves_without_provisioner": """
        proofs.answers_without_provisioner
        status.misses_the_bmcs …
    """,
    "mistaken_destroy_is_refused": "try_run destroy --yes --skip-preview",
    "destroy": "",
}
"""What each step has others prove, in order."""
LAST = SERVERS[-1].name
SPOILED: dict[str, dict[str, dict[str, Any]]] = {
    "kubernetes/bootstrap": {"a-slow-write": {"slowest_s": 30.0}},
    "kubernetes/production": {
        "a-node-was-not-ready": {"ready": {**READY, NODE.name: "2026-11-22T22:31:02Z"}},
        "completion-was-not-asked": {"completion": NOT_ASKED},
    },
    "mistakes_are_refused": {"a-machine-runs": {"running": {LAST}}},
    "preview": {
        "one-change-more": {"changes": planned() | {"RenderedAsset::one-more": "delete"}},
        "nothing": {"changes": {}},
    },
    "gate_refuses": {
        "it-succeeds": {"outcome": Outcome(0, refusal(State.GATE, NODE.name))},
        "another-failure": {"outcome": Outcome(1, f"    error: BmcTimeoutError: {NODE.name}: gate\n")},
        "another-node": {"outcome": Outcome(1, refusal(State.GATE, PLAN.control_plane[0].name))},
        "too-late": {"outcome": Outcome(1, refusal(State.SOAK, NODE.name))},
        "the-vm-ended": {"running": set()},
    },
    "production": {
        "connects-failed": {"clients": {**Evidence().clients, "connects_failed": 1}},
        "requests-failed": {"clients": {**Evidence().clients, "requests_failed_after_retry": 1}},
        "completion-was-asked": {"completion": "complete"},
        "another-disk": {"disks": {**Evidence().disks, LAST: "deviceName: /dev/none"}},
        "no-disk": {"disks": {**Evidence().disks, LAST: ""}},
        "booted-once": {"boots": {**Evidence().boots, LAST: [SERVERS[-1].boot_mode]}},
        "booted-otherwise": {"boots": {**Evidence().boots, LAST: ["UEFI", "legacy"]}},
        "a-write-lost": {"lost": {"17"}},
        "the-vm-exists": {"domains": {VM}},
        "the-vms-disk-exists": {"volumes": {f"{VM}.ign"}},
    },
    "nothing_changes": {
        "second-up-changes": {"drifts": "up"},
        "refresh-changes": {"drifts": "refresh"},
        "a-bmc-was-written-to": {"writes": [7, 8]},
    },
    "secrets": {
        "password-in-state": {"state": f'{{"password": "{PASSWORD}"}}'},
        "key-in-state": {"state": "-----BEGIN PRIVATE KEY-----"},
        "password-in-log": {"log": [*Evidence().log, {"event": "line", "text": f"login with {PASSWORD}"}]},
        "path-of-an-iso-in-log": {"log": [*Evidence().log, {"event": "line", "text": f"GET /{DIGEST}/x.iso"}]},
        "an-installation-is-not-logged": {"log": Evidence().log[1:]},
    },
    "mistaken_destroy_is_refused": {"one-deleted": {"resources": [40, 39]}},
    "destroy": {
        "a-server-runs": {"running": {LAST}},
        "boot-mode-not-as-found": {"settings": {**SETTINGS, LAST: ("None", "Legacy", False, None)}},
        "override-not-as-found": {"settings": {**SETTINGS, LAST: ("Hdd", "UEFI", False, None)}},
        "media-not-as-found": {"settings": {**SETTINGS, LAST: ("None", "UEFI", False, "x.iso")}},
        "resources-left": {"resources": [1]},
        "a-volume-left": {"volumes": {f"{VM}.ign"}},
    },
}
"""What makes each step fail."""


@pytest.mark.parametrize("step", STEPS)
def test_a_step_that_finds_all_as_it_should_be_is_proven(
    step: str, rehearse: Callable[[Evidence], Rehearsal]
) -> None:
    found = Evidence(**STEPS[step])
    getattr(rehearse(found), step.rpartition("/")[2])()
    assert said(found.calls) == [line for line in map(str.strip, CALLS[step].splitlines()) if line]


@pytest.mark.parametrize(
    ("step", "how"), [pytest.param(step, how, id=f"{step}-{how}") for step in SPOILED for how in SPOILED[step]]
)
def test_other_evidence_fails_the_step(step: str, how: str, rehearse: Callable[[Evidence], Rehearsal]) -> None:
    rehearsal = rehearse(Evidence(**{**STEPS[step], **SPOILED[step][how]}))
    with pytest.raises(RehearsalError):
        getattr(rehearsal, step.rpartition("/")[2])()


@pytest.mark.parametrize("spoiled", ["address", "lease", "lease-of-its-address", ""])
def test_a_server_with_a_static_address_needs_it_and_no_lease(
    spoiled: str, rehearse: Callable[[Evidence], Rehearsal]
) -> None:
    site = load_site("dual-stack")
    (server,) = [server for server in site.plan.servers if server.name in site.statics]
    lines = [f" {address}/24" for address in server.addresses]
    another = f"1 02:00:00:00:00:01 {server.address}0 another\n"
    leases = {
        "lease": f"1 {machine_mac(server, site.plan)} 10.30.0.99\n",
        "lease-of-its-address": f"1 02:00:00:00:00:01 {server.address} another\n",
    }
    found = Evidence(addresses={server.name: lines[spoiled == "address" :]}, leases=leases.get(spoiled, another))
    rehearsal = rehearse(found)
    rehearsal.wanted, rehearsal.plan = site, PLAN.changed(hosts=site.plan.hosts)
    if spoiled:
        with pytest.raises(RehearsalError, match=server.name):
            rehearsal.servers.have_their_addresses()
    else:
        rehearsal.servers.have_their_addresses()


def test_phase_bootstrap_proves_the_first_boot_of_each_role(rehearse: Callable[[Evidence], Rehearsal]) -> None:
    rehearsal, plan = rehearse(Evidence()), load_site("arbiter").plan
    rehearsal.plan = PLAN.changed(hosts=plan.hosts)
    rehearsal.bootstrap()
    proven = [call.args[:2] for call in rehearsal.proofs.first_boots.call_args_list]  # type: ignore[attr-defined]
    assert proven == [("/config/master", plan.control_plane), ("/config/arbiter", plan.arbiters)]


@pytest.mark.parametrize("keep", [False, True], ids=["to-its-end", "kept"])
def test_a_rehearsal_takes_each_step_in_an_operator_s_order(keep: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    parts = {"operator": None, "plan": PLAN, "stack": Mock(), "objects": create_autospec(ObjectProofs, instance=True)}
    found = create_autospec(Rehearsal, instance=True, drill=Mock(), **parts)
    found.stack.name = STACK
    monkeypatch.setattr(whole, "_drill", lambda rehearsal, _: rehearsal.drill())
    whole._run_whole(found, Namespace(), keep=keep)
    end = ["serves_without_provisioner", "network_boot.reboots_from_disk", "mistaken_destroy_is_refused", "destroy"]
    assert said(found) == [
        "record_settings",
        "preflight_refuses",
        "mistakes_are_refused",
        "network_boot.refuses_foreign_dhcp",
        *("bootstrap", "preview", "gate_refuses", "production", "nothing_changes"),
        "objects.are_repaired",
        "secrets",
        "drill",
        *([] if keep else end),
        "objects.touched_no_server",
    ]
