"""What `okd-baremetal fleet …` hands to the server and prints of it. The server is a stand-in."""

from collections.abc import AsyncIterator, Awaitable, Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
import yaml

from cli.fleet import operate as fleet_desk
from fleet import desk
from fleet.approvers import KEY_FILE, Approver, Subject, signer, write_approver
from fleet.desk import ClusterDetail, ClusterStatus
from fleet.keys import write_key
from fleet.messages import Approval, Order, Preview, Rollout, Status, Wave
from testing.approvers import public_key
from testing.command_line import run
from testing.git import committed, git
from tests.unit.cli.fleet.fleet_site import FLEET, Site

GATES = ["bootstrap", "production", "upgrade"]


class Server:
    """A server on which nothing is under way. It keeps what is started."""

    def __init__(self) -> None:
        self.started: dict[str, Rollout] = {}

    async def connected(self) -> "Server":
        return self

    async def list_workflows(self, _query: str) -> AsyncIterator[None]:
        for each in tuple[None, ...]():
            yield each

    async def start_workflow(self, _run: object, rollout: Rollout, *, id: str, task_queue: str) -> None:
        assert task_queue == "fleet"
        self.started[id] = rollout


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Server:
    made = Server()
    monkeypatch.setattr(fleet_desk, "connected", made.connected)
    return made


@pytest.fixture
def approver_key(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> str:
    """The public key of the approver whose key the environment names."""
    file = tmp_path_factory.mktemp("approver") / "key"
    monkeypatch.setenv(KEY_FILE, str(file))
    return write_approver(file)


@pytest.fixture
def site(tmp_path: Path) -> Site:
    made = Site(tmp_path)
    committed(tmp_path)
    return made


def head(site: Site) -> str:
    return git(site.folder, "rev-parse", "HEAD")


def test_a_rollout_has_the_waves_of_the_plan_at_the_commit(site: Site, server: Server) -> None:
    done = run("fleet", "start", folder=site.folder)
    commit = head(site)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.splitlines()[-2:] == [
        f"rollout {commit[:12]}: 3 clusters at commit {commit}",
        "see `okd-baremetal fleet status`",
    ]
    ids = {
        order.cluster: order.id for wave in server.started[f"rollout/{commit[:12]}"].waves for order in wave.orders
    }
    assert len({each for each in ids.values() if len(each) == 32}) == 3

    def wave(site: str, *clusters: str) -> Wave:
        orders = [Order(cluster, site, commit, GATES, id=ids[cluster]) for cluster in clusters]
        return Wave(orders, at_a_time=1, hold_at=1)

    waves = [wave("south", "south-a"), wave("north", "north-a", "north-b")]
    assert server.started == {f"rollout/{commit[:12]}": Rollout(commit[:12], waves)}


def test_a_rollout_has_the_name_commit_and_approvals_that_are_given(
    site: Site, server: Server, approver_key: str
) -> None:
    before = head(site)
    git(site.folder, "commit", "-q", "--allow-empty", "-m", "second")
    words = ("--commit", "HEAD~", "--name", "spring", "--approved", "north-b=5eed", "--by", "pull request 7")
    done = run("fleet", "start", site.file, *words)
    assert done.returncode == 0
    orders = [order for wave in server.started["rollout/spring"].waves for order in wave.orders]
    assert {order.commit for order in orders} == {before}
    (approved,) = (order for order in orders if order.approvals)
    (approval,) = approved.approvals
    assert (approval.phase, approval.digest, approval.by) == ("bootstrap", "5eed", "pull request 7")
    assert signer({"ci": approver_key}, Subject("north-b", before, approved.id), approval) == "ci"


def test_approvals_need_the_key_of_an_approver(
    site: Site, server: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv(KEY_FILE, raising=False)
    for words in (("start", site.file, "--approved", "north-b=5eed"), ("approve", "north-b", "5eed")):
        done = run("fleet", *words)
        assert done.returncode == 2
        assert done.stderr.startswith(f"{KEY_FILE}: not set. Fix: make a key with `okd-baremetal fleet approver")
    assert server.started == {}


@pytest.mark.parametrize(("there", "here"), [(False, True), (True, False)])
def test_upgrades_that_are_not_those_of_the_commit_start_nothing(
    site: Site, server: Server, there: bool, here: bool
) -> None:
    """The sites go by the fleet.yaml of the commit."""
    release = {"version": "4.21.3", "image": f"quay.io/okd/scos-release@sha256:{'5e' * 32}"}

    def written(names: bool) -> None:
        waves = [{"clusters": ["south-a"], **({"upgrade": release} if names else {})}, {}]
        site.file.write_text(yaml.safe_dump({**FLEET, "waves": waves}))

    written(there)
    git(site.folder, "commit", "-q", "--all", "--allow-empty", "-m", "next")
    assert run("fleet", "start", folder=site.folder).returncode == 0
    server.started.clear()
    written(here)
    done = run("fleet", "start", folder=site.folder)
    named = f"4.21.3 ({release['image']})"
    said = f"upgrade {named if here else 'none'}, and {named if there else 'none'} in fleet.yaml of commit "
    assert done.returncode == 2
    assert done.stderr.startswith(f"fleet.yaml: south-a: {said}{head(site)[:12]}"), done.stderr
    assert server.started == {}


def test_the_gates_are_those_of_the_plan(site: Site, server: Server) -> None:
    plan = yaml.safe_load(site.file.read_text())
    site.file.write_text(yaml.safe_dump(plan | {"gates": ["production"]}))
    run("fleet", "start", "--name", "spring", folder=site.folder)
    assert server.started["rollout/spring"].waves[0].orders[0].gates == ["production"]


@pytest.mark.parametrize(("notify", "notifies"), [({}, False), ({"notify": True}, True)], ids=["silent", "notified"])
def test_notices_are_sent_if_the_plan_says_so(
    site: Site, server: Server, notify: dict[str, bool], notifies: bool
) -> None:
    plan = yaml.safe_load(site.file.read_text())
    site.file.write_text(yaml.safe_dump(plan | notify))
    run("fleet", "start", "--name", "spring", folder=site.folder)
    assert {order.notifies for wave in server.started["rollout/spring"].waves for order in wave.orders} == {notifies}


@pytest.mark.parametrize(
    ("words", "line"),
    [
        pytest.param(
            ("--commit", "none"),
            "--commit: none is not a commit of {folder}. Fix: name one that is pushed",
            id="commit",
        ),
        pytest.param(
            ("--approved", "north-c=5eed"),
            "--approved: north-c=5eed is not CLUSTER=DIGEST of a cluster of the fleet",
            id="unknown-cluster",
        ),
        pytest.param(
            ("--approved", "north-a"),
            "--approved: north-a is not CLUSTER=DIGEST of a cluster of the fleet",
            id="no-digest",
        ),
    ],
)
def test_a_wrong_word_starts_nothing(
    site: Site, server: Server, approver_key: str, words: tuple[str, ...], line: str
) -> None:
    done = run("fleet", "start", *words, folder=site.folder)
    assert (done.returncode, done.stderr) == (2, line.format(folder=site.folder) + "\n")
    assert server.started == {}


def test_clusters_that_check_refuses_are_not_started(site: Site, server: Server) -> None:
    site.change(lambda config: config.pop("baseDomain"), "north-b")
    done, check = (run("fleet", command, folder=site.folder) for command in ("start", "check"))
    assert (done.returncode, done.stdout) == (check.returncode, check.stdout) == (2, check.stdout)
    assert server.started == {}


@pytest.mark.parametrize(
    ("words", "told"),
    [(("north-a",), "cluster/north-a: will end\n"), (("--rollout", "spring"), "rollout/spring: has ended\n")],
)
def test_cancel_names_a_cluster_or_a_rollout(
    server: Server, monkeypatch: pytest.MonkeyPatch, words: tuple[str, ...], told: str
) -> None:
    cancelled = list[tuple[str, str]]()

    def cancels(what: str) -> Callable[[object, str], Awaitable[None]]:
        async def cancel(_client: object, name: str) -> None:
            cancelled.append((what, name))

        return cancel

    monkeypatch.setattr(desk, "cancel", cancels("cluster"))
    monkeypatch.setattr(desk, "cancel_rollout", cancels("rollout"))
    assert run("fleet", "cancel", *words).stdout == told
    assert cancelled == [(told.partition("/")[0], words[-1])]


def test_cancel_takes_exactly_one_of_the_two(server: Server) -> None:
    assert run("fleet", "cancel").returncode == 2
    assert run("fleet", "cancel", "north-a", "--rollout", "spring").returncode == 2


def test_the_table_has_a_line_per_cluster(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    now = datetime(9999, 1, 1, tzinfo=UTC)  # by a clock that is ahead

    async def rows(_client: object) -> list[ClusterStatus]:
        return [
            ClusterStatus("north", "north-a", "bootstrap: up", now, ""),
            ClusterStatus("south", "south-a", "production: waits for approval", now, "a person's approval"),
        ]

    monkeypatch.setattr(desk, "cluster_statuses", rows)
    assert run("fleet", "status").stdout.splitlines() == [
        "SITE   CLUSTER  STEP                            SINCE  WAITS FOR",
        "north  north-a  bootstrap: up                   0 s    -",
        "south  south-a  production: waits for approval  0 s    a person's approval",
    ]


def detail(given: ClusterDetail, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    async def answer(_client: object, cluster: str) -> ClusterDetail:
        assert cluster == "north-a"
        return given

    monkeypatch.setattr(desk, "describe", answer)
    return run("fleet", "status", "north-a").stdout.splitlines()


def test_a_cluster_at_work_shows_its_row_and_why_it_tries_again(
    server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    approvals = [Approval("bootstrap", "5eed", "pull request 7")]
    status = Status("bootstrap: up", Preview("5eed", ["wipes a disk"]), "", approvals)
    at_work = ClusterDetail(status, 2, "okd-master-0: boots\x1b[2J", "backend is away")
    assert detail(at_work, monkeypatch) == [
        "north-a: bootstrap: up",
        r"  now: okd-master-0: boots\x1b[2J",
        "  attempt 2; the one before failed: backend is away",
        "  bootstrap was approved by pull request 7 as 5eed",
    ]


def test_a_cluster_at_a_gate_shows_its_preview_and_the_command(
    server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    status = Status("bootstrap: waits for approval", Preview("5eed", ["wipes a disk", "boots"]), "", [])
    assert detail(ClusterDetail(status), monkeypatch) == [
        "north-a: bootstrap: waits for approval",
        "  wipes a disk",
        "  boots",
        "  To approve it, run: okd-baremetal fleet approve north-a 5eed",
    ]


def test_a_cluster_that_stopped_shows_the_problem_and_the_command(
    server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    status = Status("bootstrap: up: stopped", None, "okd-master-0: no disk\nokd-master-1: no disk", [])
    assert detail(ClusterDetail(status), monkeypatch) == [
        "north-a: bootstrap: up: stopped",
        "  problem: okd-master-0: no disk",
        "  problem: okd-master-1: no disk",
        "  Fix it, then run: okd-baremetal fleet retry north-a",
    ]


def test_an_approval_is_by_who_types_it_unless_another_is_named(
    server: Server, approver_key: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def approve(_client: object, cluster: str, digest: str, by: str, approver: Approver) -> str:
        assert public_key(approver) == approver_key
        approved.append((cluster, digest, by))
        return "production"

    approved = list[tuple[str, str, str]]()
    monkeypatch.setattr(desk, "approve", approve)
    monkeypatch.setattr("socket.gethostname", lambda: "desk")
    monkeypatch.setenv("LOGNAME", "operator")
    assert run("fleet", "approve", "north-a", "5eed").stdout == "north-a: production approved by operator@desk\n"
    run("fleet", "approve", "north-a", "5eed", "--by", "somebody")
    assert approved == [("north-a", "5eed", "operator@desk"), ("north-a", "5eed", "somebody")]


def test_a_user_without_a_name_has_a_number(
    server: Server, approver_key: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def unknown(uid: int) -> Any:
        raise KeyError(uid)

    async def approve(*_: object) -> str:
        return "production"

    for name in ("LOGNAME", "USER", "LNAME", "USERNAME"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr("pwd.getpwuid", unknown)
    monkeypatch.setattr("os.getuid", lambda: 4711)
    monkeypatch.setattr(desk, "approve", approve)
    assert " approved by 4711@" in run("fleet", "approve", "north-a", "5eed").stdout


def test_a_gate_of_the_site_says_why_it_did_not_begin(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    preview = Preview("5eed", ["wipes a disk"])
    status = Status("bootstrap: waits for approval", preview, "", [], "nobody\x1b[2J has signed")
    assert detail(ClusterDetail(status), monkeypatch)[1] == r"  the site did not begin: nobody\x1b[2J has signed"


@pytest.mark.parametrize("words", [("key",), ("approver", "jane")], ids=["fleet", "approver"])
def test_a_key_is_in_a_file_of_its_own_and_not_on_the_screen(tmp_path: Path, words: tuple[str, ...]) -> None:
    """S18: a redirection made it with the umask's mode."""
    file = tmp_path / "key"
    done = run("fleet", *words, file)
    assert (done.returncode, done.stderr, file.stat().st_mode & 0o777) == (0, "", 0o600)
    assert not any(line in done.stdout for line in file.read_text().splitlines())
    again = run("fleet", *words, file)
    assert (again.returncode, again.stderr) == (
        2,
        f"{file}: there is a file already. Fix: name one that does not exist\n",
    )


@pytest.mark.parametrize("name", ["", "jane doe", "a\n  mallory: x", "-x"])
def test_an_approver_has_a_name_that_the_plan_takes(tmp_path: Path, name: str) -> None:
    assert run("fleet", "approver", name, tmp_path / "key").returncode == 2
    assert not (tmp_path / "key").exists()


def test_the_worker_of_a_site_runs_in_its_clone(tmp_path: Path) -> None:
    done = run("fleet", "worker", "--site", "north", folder=tmp_path)
    fix = "run this in the site's clone of the repository of stacks"
    assert (done.returncode, done.stderr) == (2, f"{tmp_path}: has no Pulumi.yaml. Fix: {fix}\n")


@pytest.mark.parametrize(
    "words",
    [
        ("status",),
        ("status", "north-a"),
        ("approve", "north-a", "5eed"),
        ("retry", "north-a"),
        ("cancel", "north-a"),
        ("worker",),
    ],
)
def test_without_a_server_one_line_names_its_address(
    tmp_path: Path, approver_key: str, words: tuple[str, ...]
) -> None:
    write_key(tmp_path / "key")
    done = run("fleet", *words, TEMPORAL_ADDRESS="127.0.0.1:1", FLEET_KEY_FILE=str(tmp_path / "key"))
    assert (done.returncode, done.stdout) == (2, "")
    [line] = done.stderr.splitlines()
    assert line.startswith("127.0.0.1:1: no Temporal server answers there: ")
    assert line.endswith(". Fix: start it, or export another TEMPORAL_ADDRESS: docs/how-to/many-sites.md")
