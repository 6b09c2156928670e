"""One step of one cluster. Pulumi's CLI is a stand-in; its Automation API, the guard and git are real."""

import hashlib
import json
import shutil
import socket
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import yaml

from base.errors import ConfigError
from base.write_guard import PLAN_VARIABLE
from cluster.plan import ClusterPlan
from fleet.site.checkout import FOLDER
from fleet.site.record import UnapprovedError, record_start
from fleet.site.updates import ERROR_LINES, ChangedError, EngineError, StoppedError, Update
from providers.bmc_host.model import BmcHostOuts
from testing import plans, preview_steps
from testing.approvers import JANE, approver_of, public_key
from testing.checkout import ROOT
from testing.fakes.pulumi import FakePulumi
from testing.namespaces import needs_root
from testing.site_clone import RUN, SiteClone, approved

pytestmark = needs_root
STACK = "example"
RELEASE = {"version": "4.21.3", "image": f"quay.io/okd/scos-release@sha256:{'5e' * 32}"}
PLAN, SLOWER, SLOWEST = plans.plan(), *(plans.plan(deadlines={"bmc_s": seconds}) for seconds in (90, 120))
HOST = preview_steps.step("create", "okd-master-0", new=preview_steps.bmc_host(PLAN, "okd-master-0"))
URN = HOST["urn"]
LOCKED = """\
error: the stack is currently locked by 1 lock(s). Either wait for the other process(es) to end or delete the lock file with `pulumi cancel`.
  file:///srv/state/.pulumi/locks/organization/p/s/0f9b2b0e-6a0d-4a3a-9d8e-1c5b1c2c3d4e.json: created by root@{host} (pid {pid}) at 2026-01-02T03:04:05Z
"""  # noqa: E501
"""What Pulumi 3.259 writes."""


def changed(plan: ClusterPlan, outs: BmcHostOuts | None = None) -> str:
    """Return a preview in which one machine changes from what it was by `PLAN`, and had reported `outs`."""
    old, new = (preview_steps.bmc_host(each, "okd-master-0") for each in (PLAN, plan))
    return preview_steps.preview(preview_steps.step("update", "okd-master-0", old, new, outs=outs))


def said(message: str, severity: str = "error") -> dict[str, Any]:
    """Return the engine's event of a message about a machine."""
    return {"diagnosticEvent": {"urn": URN, "message": message, "color": "raw", "severity": severity}}


class Site(SiteClone):
    """A clone with one commit of one stack."""

    def __init__(self, folder: Path) -> None:
        remote = folder / "remote"
        (remote / "stacks").mkdir(parents=True)
        shutil.copy(ROOT / "Pulumi.yaml", remote)
        shutil.copy(ROOT / "stacks" / f"Pulumi.{STACK}.yaml", remote / "stacks")
        shutil.copytree(ROOT / "stacks" / STACK, remote / "stacks" / STACK)
        super().__init__(folder, STACK)

    def update(self, digest: str = "", run: str = RUN, phase: str = "bootstrap") -> Update:
        """Return an update that was approved, if it has a digest."""
        step = replace(self.step(phase, digest=digest), run=run)
        return Update(self.orders, approved(step) if digest else step)


@pytest.fixture
def site(tmp_path: Path, pulumi: FakePulumi, monkeypatch: pytest.MonkeyPatch) -> Site:
    monkeypatch.setenv("PYTHONPATH", str(ROOT))
    return Site(tmp_path)


@pytest.fixture
def ungated(site: Site) -> Site:
    """A site without gates."""
    site.change(gates=[])
    return site


def test_a_command_that_is_killed_without_a_word_is_a_line(
    site: Site, pulumi: FakePulumi, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As by the kernel that is out of memory."""
    monkeypatch.setattr("sys.executable", "/bin/false")
    with pytest.raises(StoppedError) as caught:
        site.update().check()
    assert str(caught.value) == (
        "the command plan ended with 1, and says nothing. Fix: run it at the site, and look at its memory"
    )


@pytest.mark.parametrize(
    ("resources", "phases"),
    [
        pytest.param([], ["bootstrap", "production"], id="new"),
        pytest.param(
            [{"type": "pulumi-python:dynamic/baremetal:VipHandoff", "inputs": {"phase": "bootstrap"}}],
            ["bootstrap", "production"],
            id="in-bootstrap",
        ),
        pytest.param(
            [{"type": "pulumi-python:dynamic/baremetal:VipHandoff", "inputs": {"phase": "production"}}],
            ["production"],
            id="in-production",
        ),
    ],
)
def test_inputs_that_can_be_installed_pass(
    site: Site, pulumi: FakePulumi, resources: list[dict[str, Any]], phases: list[str]
) -> None:
    pulumi.exports(resources)
    assert site.update().check().phases == phases
    assert pulumi.calls() == ["stack-select", "stack-export"]


@pytest.mark.parametrize(
    ("reached", "phases"), [("bootstrap", ["bootstrap", "production", "upgrade"]), ("production", ["upgrade"])]
)
def test_a_wave_that_names_a_release_has_its_upgrade_last(
    site: Site, pulumi: FakePulumi, reached: str, phases: list[str]
) -> None:
    site.change(waves=[{"clusters": ["south-a"]}, {"upgrade": RELEASE}])
    pulumi.exports([{"type": "pulumi-python:dynamic/baremetal:VipHandoff", "inputs": {"phase": reached}}])
    assert site.update().check().phases == phases


def test_an_upgrade_is_previewed_once_nothing_stands_in_its_way(site: Site, pulumi: FakePulumi) -> None:
    site.change(waves=[{"upgrade": RELEASE}])
    pulumi.does("config-set", f'echo "$*" >>{site.root}/set')
    pulumi.previews(preview_steps.preview(HOST))
    with pytest.raises(StoppedError) as caught:  # the stand-in sets nothing, so the stack names no upgrade
        site.update(phase="upgrade").preview()
    assert str(caught.value).startswith("config: upgrade: ")
    words = [line.split() for line in (site.root / "set").read_text().splitlines()]
    assert [[word for word in line[2:] if word in ("--path", "phase") or "upgrade" in word] for line in words] == [
        ["phase"],
        ["--path", "upgrade.version"],
        ["--path", "upgrade.image"],
    ]
    assert [line[-1] for line in words] == ["production", RELEASE["version"], RELEASE["image"]]
    assert "preview" not in pulumi.calls()


def test_the_release_is_that_of_the_orders_commit(site: Site, pulumi: FakePulumi) -> None:
    site.change(waves=[{"upgrade": RELEASE}])
    step = site.update(phase="upgrade").step
    site.change(waves=[{"upgrade": {**RELEASE, "version": "4.21.9"}}])
    pulumi.does("config-set", f'echo "$*" >>{site.root}/set')
    with pytest.raises(StoppedError):
        Update(site.orders, step).preview()
    assert "4.21.3" in (site.root / "set").read_text()
    assert "4.21.9" not in (site.root / "set").read_text()


def test_an_upgrade_that_no_wave_of_the_commit_names_is_refused(site: Site, pulumi: FakePulumi) -> None:
    with pytest.raises(ConfigError, match=r"^example: fleet.yaml of commit [0-9a-f]{12} names no release for it"):
        site.update(phase="upgrade").preview()
    assert pulumi.calls() == []


def test_an_upgrade_of_the_stacks_file_passes_no_gate(site: Site, pulumi: FakePulumi) -> None:
    """It came with the phase `production`, which need be no gate where `upgrade` is one."""
    site.change(gates=["upgrade"], waves=[{"upgrade": RELEASE}])
    file = site.remote / "stacks" / f"Pulumi.{STACK}.yaml"
    stack = yaml.safe_load(file.read_text())
    stack["config"]["okd-baremetal:upgrade"] = RELEASE
    file.write_text(yaml.safe_dump(stack))
    site.committed()
    for asked in (site.update(phase="production").preview, site.update(phase="production").up):
        with pytest.raises(
            ConfigError, match=rf"^stacks/Pulumi.{STACK}.yaml: upgrade: a site upgrades by fleet.yaml"
        ):
            asked()
    assert "up" not in pulumi.calls()


def test_a_folder_of_the_site_does_not_replace_the_program(site: Site) -> None:
    (site.remote / "cli").mkdir()
    (site.remote / "cli" / "__init__.py").touch()
    (site.remote / "cli" / "__main__.py").write_text("raise SystemExit('a folder of the site')\n")
    site.committed()
    assert site.update().check().phases == ["bootstrap", "production"]


def test_inputs_are_refused_as_plan_refuses_them(site: Site) -> None:
    (site.remote / "stacks" / STACK / "install-config.yaml").unlink()
    site.committed()
    with pytest.raises(StoppedError) as caught:
        site.update().check()
    assert str(caught.value) == f"stacks/{STACK}/install-config.yaml: cannot be read: No such file or directory"


def test_a_preview_is_that_of_the_phase_and_says_what_review_says(site: Site, pulumi: FakePulumi) -> None:
    pulumi.does("config-set", f'echo "$*" >{site.root}/set')
    pulumi.previews(preview_steps.preview(HOST))
    preview = site.update().preview()
    words = (site.root / "set").read_text().split()
    assert words[:3] == ["config", "set", "phase"]
    assert words[-2:] == ["--", "bootstrap"]
    assert pulumi.calls() == ["stack-select", "config-set", "preview"]
    assert any("okd-master-0" in sentence for sentence in preview.sentences)


MISSING = f"echo \"error: no stack named '{STACK}' found\" >&2; exit 255"
"""What Pulumi says of a stack that its backend does not have."""


def test_a_stack_whose_update_has_begun_here_is_not_made_anew(ungated: Site, pulumi: FakePulumi) -> None:
    """With another backend, as of a worker without its variable, the state is empty: all servers would be wiped."""
    record_start(ungated.orders.clone.record, ungated.update().step, "", "")
    pulumi.does("stack-select", MISSING)
    for asked in (ungated.update().check, ungated.update(run="another").preview, ungated.update(run="third").up):
        with pytest.raises(ConfigError) as caught:
            asked()
        assert str(caught.value) == (
            f"{STACK}: the backend has no such stack, although an update of it has begun at this site. Fix: have "
            "PULUMI_BACKEND_URL of the worker be what it was; or, if the stack was removed since its servers were "
            f"destroyed, `pulumi stack init {STACK}` in {ungated.root / FOLDER / STACK}, with the worker's "
            f"environment; then `okd-baremetal fleet retry {STACK}`"
        )
    assert {*pulumi.calls()} == {"stack-select"}


def test_a_stack_that_is_new_is_made(site: Site, pulumi: FakePulumi) -> None:
    pulumi.does("stack-select", MISSING)
    pulumi.previews(preview_steps.preview(HOST))
    site.update().preview()
    assert pulumi.calls() == ["stack-select", "stack-init", "config-set", "preview"]


def test_the_digest_is_that_of_the_steps(site: Site, pulumi: FakePulumi) -> None:
    def digest(printed: str) -> str:
        pulumi.previews(printed)
        return site.update().preview().digest

    first = digest(changed(SLOWER))
    assert digest(changed(SLOWER)) == first
    assert digest(changed(SLOWEST)) != first
    assert digest(changed(plans.plan(deadlines={"bmc_s": 90}, bmc_ca="another PEM"))) != first
    assert digest(preview_steps.preview(HOST)) != first


def test_the_digest_does_not_depend_on_what_a_machine_has_reported(site: Site, pulumi: FakePulumi) -> None:
    def digest(version: str) -> str:
        pulumi.previews(changed(SLOWER, BmcHostOuts(bios_version=version)))
        return site.update().preview().digest

    assert digest("1.0") == digest("1.1")


def test_a_preview_that_the_program_refuses_waits_for_a_person(site: Site, pulumi: FakePulumi) -> None:
    pulumi.previews(
        preview_steps.preview(diagnostics=[{"severity": "error", "message": "error: baseDomain: missing"}]), code=255
    )
    with pytest.raises(StoppedError, match=r"^pulumi preview: the preview failed: baseDomain: missing$"):
        site.update().preview()


@pytest.mark.parametrize("command", ["stack-select", "config-set", "preview"])
def test_a_backend_that_is_away_is_no_matter_for_a_person(site: Site, pulumi: FakePulumi, command: str) -> None:
    pulumi.does(
        command, "echo '{}'; echo 'first' >&2; echo 'error: <{%fg 1%}>connection refused<{%reset%}>' >&2; exit 255"
    )
    with pytest.raises(EngineError, match=r"^error: connection refused$"):
        site.update().preview()


def test_an_engine_that_says_nothing_is_reported_without_its_output(site: Site, pulumi: FakePulumi) -> None:
    pulumi.does("preview", "echo 'password: hunter2'; exit 255")
    with pytest.raises(EngineError, match=r"^pulumi failed, and does not say why$"):
        site.update().preview()


def test_an_update_does_what_was_approved(site: Site, pulumi: FakePulumi) -> None:
    pulumi.previews(changed(SLOWER))
    pulumi.updates(changes={"create": 2, "same": 1})
    done = site.update(site.update().preview().digest).up()
    assert (done.changes, done.resumed) == ({"create": 2, "same": 1}, False)


def test_an_update_that_would_do_something_else_does_not_begin(site: Site, pulumi: FakePulumi) -> None:
    pulumi.previews(changed(SLOWER))
    digest = site.update().preview().digest
    pulumi.previews(changed(SLOWEST))
    now = site.update().preview().digest
    with pytest.raises(ChangedError, match=f"^the preview is {now} now, and {digest} was approved$"):
        site.update(digest).up()
    assert "up" not in pulumi.calls()


def test_an_approved_update_is_bound_to_its_plan_also_after_a_death(site: Site, pulumi: FakePulumi) -> None:
    """Issue 43: an approval binds."""
    bound = site.root / "bound"
    pulumi.previews(changed(SLOWER))
    digest = site.update().preview().digest
    pulumi.updates(code=255)
    pulumi.does("while-up", f'echo "${PLAN_VARIABLE}" >>{bound}')
    step = site.update(digest).step
    with pytest.raises(EngineError):
        Update(site.orders, step).up()
    pulumi.previews(changed(SLOWEST))
    pulumi.updates()
    Update(site.orders, step).up()
    plan = site.orders.clone.write_plan(STACK)
    assert bound.read_text() == f"{plan}\n{plan}\n"
    assert hashlib.sha256(plan.read_bytes()).hexdigest() == digest


@pytest.mark.parametrize("damage", [Path.unlink, lambda plan: plan.write_text("{}")], ids=["gone", "another"])
def test_an_update_does_not_go_on_without_its_write_plan(
    site: Site, pulumi: FakePulumi, damage: Callable[[Path], object]
) -> None:
    pulumi.previews(changed(SLOWER))
    digest = site.update().preview().digest
    pulumi.updates(code=255)
    step = site.update(digest).step
    with pytest.raises(EngineError):
        Update(site.orders, step).up()
    damage(site.orders.clone.write_plan(STACK))
    pulumi.previews(changed(SLOWEST))
    with pytest.raises(ChangedError):
        Update(site.orders, step).up()


def test_without_a_gate_no_preview_is_asked_for(ungated: Site, pulumi: FakePulumi) -> None:
    pulumi.updates()
    ungated.update().up()
    assert "preview" not in pulumi.calls()


def test_an_update_that_had_begun_goes_on_though_its_preview_is_another(site: Site, pulumi: FakePulumi) -> None:
    pulumi.previews(changed(SLOWER))
    digest = site.update().preview().digest
    pulumi.updates(code=255)
    step = site.update(digest).step
    with pytest.raises(EngineError):
        Update(site.orders, step).up()
    pulumi.previews(changed(SLOWEST))
    pulumi.updates(changes={"update": 1})
    site.remote.rename(site.remote.with_name("away"))  # which a resumed update does not need
    assert Update(site.orders, step).up().changes == {"update": 1}


def test_an_update_whose_report_was_lost_reports_again_what_it_did(site: Site, pulumi: FakePulumi) -> None:
    pulumi.previews(changed(SLOWER))
    digest = site.update().preview().digest
    pulumi.updates(changes={"update": 1})
    step = site.update(digest).step
    done = Update(site.orders, step).up()
    pulumi.previews(preview_steps.preview())
    assert Update(site.orders, step).up() == done
    assert pulumi.calls().count("up") == 1
    with pytest.raises(ChangedError):
        site.update(digest, run="another run").up()


def test_an_update_without_an_approval_that_counts_runs_nothing(site: Site, pulumi: FakePulumi) -> None:
    """Not even a preview: the sealed order of a preview, handed to `up`, is such an order (S6)."""
    for step in (site.step(), site.step(digest="5eed" * 16), approved(site.step(digest="5eed" * 16), approver_of(2))):
        with pytest.raises(UnapprovedError):
            Update(site.orders, step).up()
    assert pulumi.calls() == []
    assert not site.orders.clone.record.exists()


def test_who_approved_an_update_is_on_record(site: Site, pulumi: FakePulumi) -> None:
    pulumi.previews(changed(SLOWER))
    pulumi.updates(changes={"update": 1})
    site.update(site.update().preview().digest).up()
    [line] = map(json.loads, site.orders.clone.record.read_text().splitlines())
    assert (line["approver"], line["key"], line["phase"]) == ("jane", public_key(JANE), "bootstrap")


def test_an_approved_update_that_a_server_repeats_later_is_refused(site: Site, pulumi: FakePulumi) -> None:
    """The cluster was destroyed meanwhile: the preview is the approved one again, and would wipe disks."""
    pulumi.previews(changed(SLOWER))
    pulumi.updates(changes={"update": 1})
    digest = site.update().preview().digest
    first, second = site.update(digest).step, site.update(digest, run="another run").step
    second = approved(replace(second, order="another order"))
    for step in (first, second):
        Update(site.orders, step).up()
    with pytest.raises(UnapprovedError, match="has begun before"):
        Update(site.orders, first).up()
    assert pulumi.calls().count("up") == 2


def test_an_update_without_a_gate_that_a_server_repeats_is_refused(ungated: Site, pulumi: FakePulumi) -> None:
    pulumi.updates(changes={"update": 1})
    ungated.update().up()
    ungated.update(run="another run").up()
    with pytest.raises(UnapprovedError, match="has begun before"):
        ungated.update().up()


def test_an_order_that_the_site_refuses_runs_nothing(site: Site, pulumi: FakePulumi) -> None:
    """Each activity asks the site's own plan."""
    foreign = replace(site.step(), cluster="south-a")
    for work in (Update.check, Update.preview, Update.up):
        with pytest.raises(ConfigError, match="no such cluster at site north"):
            work(Update(site.orders, foreign))
    assert pulumi.calls() == []
    assert not (site.root / FOLDER / "south-a").exists()


def test_a_note_is_replaced_and_never_half_written(ungated: Site, pulumi: FakePulumi) -> None:
    pulumi.updates(changes={"update": 1})
    ungated.update().up()
    note = ungated.orders.clone.note(STACK)
    before = note.read_text()
    with note.open() as reader:
        ungated.update(run="another run").up()
        assert reader.read() == before
    assert note.read_text() != before


def test_what_a_resource_says_in_its_error_waits_for_a_person(ungated: Site, pulumi: FakePulumi) -> None:
    pulumi.updates(said("<{%fg 1%}>no disk\nof 500 GB<{%reset%}>\n"), said("hunter2", "warning"), code=255)
    with pytest.raises(StoppedError) as caught:
        ungated.update().up()
    assert str(caught.value) == r"okd-master-0: no disk\nof 500 GB"


def test_a_long_list_of_errors_is_cut(ungated: Site, pulumi: FakePulumi) -> None:
    pulumi.updates(*(said(f"error {number}") for number in range(ERROR_LINES + 3)), code=255)
    with pytest.raises(StoppedError) as caught:
        ungated.update().up()
    assert str(caught.value).splitlines()[ERROR_LINES - 1 :] == [
        f"okd-master-0: error {ERROR_LINES - 1}",
        "and 3 more lines",
    ]


@pytest.mark.parametrize(
    ("events", "progress"),
    [
        pytest.param([], "", id="nothing"),
        pytest.param(
            [{"resourcePreEvent": {"metadata": {"urn": URN, "op": "create", "type": "BmcHost", "provider": ""}}}],
            "okd-master-0: create",
            id="begins",
        ),
        pytest.param(
            [said("powers on", "info"), said("<{%reset%}>boots<{%reset%}>\n", "info#err")],
            "okd-master-0: boots",
            id="latest",
        ),
        pytest.param([said("boots", "info"), said("  ", "info")], "okd-master-0: boots", id="empty"),
        pytest.param([said("boots", "info"), said("no disk")], "okd-master-0: boots", id="error"),
    ],
)
def test_the_latest_progress_is_noted(
    ungated: Site, pulumi: FakePulumi, events: list[Mapping[str, Any]], progress: str
) -> None:
    pulumi.updates(*events)
    update = ungated.update()
    update.up()
    assert update.progress == progress


def test_the_lock_of_a_worker_that_died_here_is_taken_over(ungated: Site, pulumi: FakePulumi) -> None:
    pulumi.updates(changes={"create": 1})
    pulumi.locked(LOCKED.format(host=socket.gethostname(), pid=1))
    done = ungated.update().up()
    assert (done.changes, done.resumed) == ({"create": 1}, True)
    assert [call for call in pulumi.calls() if call in ("up", "cancel")] == ["up", "cancel", "up"]


@pytest.mark.parametrize(
    ("host", "pid"),
    [
        pytest.param("elsewhere", 1, id="worker-of-another-host"),
        pytest.param(socket.gethostname(), 4711, id="person-of-this-host"),
    ],
)
def test_the_lock_of_another_run_is_left_to_it(ungated: Site, pulumi: FakePulumi, host: str, pid: int) -> None:
    pulumi.updates()
    pulumi.locked(LOCKED.format(host=host, pid=pid))
    with pytest.raises(EngineError, match=r"^another run holds the stack: error: the stack is currently locked by 1"):
        ungated.update().up()
    assert "cancel" not in pulumi.calls()


def test_a_lock_that_cannot_be_removed_is_a_failure_of_the_backend(ungated: Site, pulumi: FakePulumi) -> None:
    pulumi.updates()
    pulumi.locked(LOCKED.format(host=socket.gethostname(), pid=1))
    pulumi.does("cancel", "echo 'error: the state is read-only' >&2; exit 1")
    with pytest.raises(EngineError, match=r"^error: the state is read-only$"):
        ungated.update().up()
