"""S2: the real Pulumi quotes the URL of a backend that is away, and no text of this program has its password."""

import ast
import json
import tarfile
from pathlib import Path
from urllib.parse import quote

import pytest
from pulumi.automation.errors import CommandError

from base.backend import VARIABLE, environment, without_login
from cli.shared.stack_options import run_pulumi
from fleet.site.guard import GuardedPulumi
from review.preview import failures
from testing.checkout import ROOT
from testing.command_line import run
from testing.namespaces import needs_root
from testing.plan_files import Files
from testing.pulumi_env import pulumi_env

PASSWORD = "CNRYpg11"
AWAY = "127.0.0.1:1/db"
URLS = {
    "plain": f"postgres://usr:{PASSWORD}@{AWAY}",
    "encoded": f"postgres://usr:{quote(f'{PASSWORD}@: ü', safe='')}@{AWAY}",
    "no-user": f"postgres://:{PASSWORD}@{AWAY}",
    "at-sign": f"postgres://usr:half@{PASSWORD}@{AWAY}",
    "query": f"postgres://{AWAY}?user=usr&password={PASSWORD}",
    "folder": f"file://usr:{PASSWORD}@{AWAY}",
}


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A project with a stack that has an encrypted option."""
    (tmp_path / "Pulumi.yaml").write_text((ROOT / "Pulumi.yaml").read_text())
    folder = tmp_path / "stacks" / "prod"
    folder.mkdir(parents=True)
    Files(folder).write(lambda _: None)
    options = "config:\n  okd-baremetal:pull_secret:\n    secure: v1:xxxx\n"
    (tmp_path / "stacks" / "Pulumi.prod.yaml").write_text(options)
    return tmp_path


@pytest.fixture(params=list(URLS.values()), ids=list(URLS))
def backend(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    for name, value in pulumi_env(tmp_path).items():
        monkeypatch.setenv(name, value)
    url = str(request.param)
    monkeypatch.setenv(VARIABLE, url)
    return url


def _assert_masked(text: str) -> None:
    assert "unable to open state" in text  # Pulumi's own words, so this is the error that quotes the URL
    assert "CNRY" not in text
    assert "[masked]" in text


@pytest.mark.parametrize(
    "words",
    [
        *(("review", "prod"), ("bmc", "consent", "prod")),
        ("payload-config", "stacks/prod/install-config.yaml", "--stack", "prod"),
    ],
    ids=["review", "consent", "payload-config"],
)
@pytest.mark.parametrize("backend", [URLS["plain"]], indirect=True, ids=["plain"])
def test_no_command_prints_it(project: Path, backend: str, words: tuple[str, ...]) -> None:
    done = run(*words, folder=project)
    assert done.returncode == 2
    _assert_masked(done.stdout + done.stderr)


def test_no_file_of_the_archive_has_it(project: Path, backend: str) -> None:
    done = run("gather", "prod", "--out", "x.tar.gz", folder=project)
    _assert_masked(done.stderr)
    with tarfile.open(project / "x.tar.gz") as archive:
        texts = {each.name: archive.extractfile(each).read().decode() for each in archive if each.isfile()}  # type: ignore[union-attr]
    _assert_masked(texts["x/index.md"])
    assert [name for name, text in texts.items() if "CNRY" in text] == []


@needs_root
@pytest.mark.parametrize("backend", [URLS["plain"]], indirect=True, ids=["plain"])
def test_no_error_of_a_sites_worker_has_it(project: Path, backend: str) -> None:
    guarded = GuardedPulumi(project / "lock")
    errors = list[str]()
    with pytest.raises(CommandError) as raised:
        guarded.run(["whoami"], str(project), {}, None, errors.append)
    _assert_masked(str(raised.value))
    _assert_masked("\n".join(errors))


def test_no_review_of_a_saved_preview_has_it(backend: str) -> None:
    message = f'error: unable to open state database "{backend}": connection refused'
    saved = json.dumps({"steps": [], "diagnostics": [{"severity": "error", "message": message}]})
    _assert_masked("\n".join(failures(saved)))


SPELLED = 'pä ss"w@rd\\'


@pytest.mark.parametrize(
    "spelling",
    [
        *(SPELLED, quote(SPELLED, safe=""), quote(SPELLED, safe="").lower(), quote(quote(SPELLED, safe=""), safe="")),
        *(json.dumps(SPELLED), json.dumps(SPELLED, ensure_ascii=False), SPELLED.replace(" ", "+"), SPELLED.upper()),
    ],
    ids=["plain", "encoded", "lower", "twice", "json", "json-utf-8", "form", "upper"],
)
def test_a_password_is_masked_in_every_spelling(monkeypatch: pytest.MonkeyPatch, spelling: str) -> None:
    monkeypatch.setenv(VARIABLE, f"postgres://usr:{quote(SPELLED, safe='')}@db/x")
    assert without_login(f"pq: {spelling} is wrong").replace('"', "") == "pq: [masked] is wrong"


def test_a_url_without_a_login_stays(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(VARIABLE, "postgres://usr@db:5432/x?sslmode=verify-full")
    text = (
        'postgres://usr@db:5432/x?sslmode=verify-full "https://registry:5000/a@sha256:0a" https://[fd00::1]:6443/a@b '
        "s3://bucket/locks/1.json: created by root@host (pid 1) at 2026-01-01T00:00:00Z ssh://git@host/x"
    )
    assert without_login(text) == text


def test_no_variable_gives_pulumi_an_option(project: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """`gather` would get secret outputs in the clear, a stream is no preview, and PARALLEL ends the CLI (3.259.0)."""
    names = {"PULUMI_OPTION_SHOW_SECRETS": "true", "PULUMI_OPTION_PARALLEL": "3", "PULUMI_OPTION_CWD": "/"}
    names |= {"PULUMI_ENABLE_STREAMING_JSON_PREVIEW": "true"}
    for name, value in (pulumi_env(tmp_path) | names).items():
        monkeypatch.setenv(name, value)
    (project / "stacks" / "Pulumi.prod.yaml").write_text("{}\n")
    for words in (("stack", "init", "prod"), ("config", "set", "--secret", "notify_url", "hidden")):
        assert run_pulumi(*words, folder=project).returncode == 0
    assert "hidden" not in run_pulumi("config", folder=project).stdout
    assert not {*environment()} & {*names}


def test_whatever_runs_pulumi_masks_what_it_prints() -> None:
    """A new run of Pulumi beside the known ones has to be masked, too, and starts it in its environment."""
    runs = [
        path
        for room in ("base", "cli", "components", "fleet", "providers", "review", "wires")
        for path in (ROOT / room).rglob("*.py")
        if _runs_pulumi(path)
    ]
    assert {str(path.relative_to(ROOT)) for path in runs} >= {"cli/shared/stack_options.py", "fleet/site/guard.py"}
    assert [str(path) for path in runs if "without_login(" not in path.read_text()] == []
    assert [str(path) for path in runs if "environment()" not in path.read_text()] == []


def _runs_pulumi(path: Path) -> bool:
    nodes = [*ast.walk(ast.parse(path.read_text()))]
    names = {each.id for each in nodes if isinstance(each, ast.Name)} | {
        each.attr for each in nodes if isinstance(each, ast.Attribute)
    }
    starts = names & {"Popen", "call", "child", "check_call", "check_output", "execv", "run", "PulumiCommand"}
    words = {each.value for each in nodes if isinstance(each, ast.Constant)}
    # This one starts a process of this program, and looks for the CLI's.
    return bool(starts and ("pulumi" in words or "PulumiCommand" in names)) and path.name != "run_follower.py"
