"""Commands before `make setup` has installed their tools: a line with the fix, or the tool is not needed."""

from pathlib import Path

import pytest
import yaml

from cli.__main__ import COMMANDS
from testing import plans
from testing.checkout import ROOT
from testing.command_line import run

CONFIG = "stacks/prod/install-config.yaml"
CALLS = {
    "new-site": (),
    "discover": ("--logins", "logins.yaml", "192.0.2.1"),
    "init": ("prod",),
    "move-secrets": ("prod",),
    "payload": ("prod",),
    "payload-config": (CONFIG, "--stack", "prod"),
    "check": ("--stack", CONFIG),
    "clashes": (CONFIG,),
    "plan": (CONFIG, "--stack", "prod"),
    "schema": (),
    "vrid": ("okd",),
    "bmc-url": ("redfish-virtualmedia://192.0.2.1/redfish/v1/Systems/1",),
    "bmc": ("consent", "prod"),
    "render": (CONFIG, "--sample-addresses", "--out", "out"),
    "isos": ("prod", "--out", "isos"),
    "network-boot": ("prod",),
    "rehearse": ("prod",),
    "status": ("--help",),
    "upgrade": ("prod",),
    "review": ("prod",),
    "log": ("prod",),
    "verify": ("--help",),
    "report": ("prod",),
    "snapshot": ("prod",),
    "gather": ("prod",),
    "chart": (),
    "fleet": ("check",),
}


@pytest.fixture
def site(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with a complete stack, of which one secret is encrypted, on a machine with no tool at all."""
    for name, value in {"PATH": "/nonexistent", "XDG_CACHE_HOME": str(tmp_path / "cache")}.items():
        monkeypatch.setenv(name, value)
    (tmp_path / "stacks" / "prod").mkdir(parents=True)
    (tmp_path / CONFIG).write_text(plans.INSTALL_CONFIG.read_text())
    options = plans.options() | {"pull_secret": {"secure": "v1:cipher"}}
    config = {f"{plans.PROJECT}:{name}": value for name, value in options.items()}
    (tmp_path / "stacks" / "Pulumi.prod.yaml").write_text(yaml.safe_dump({"config": config}))
    (tmp_path / "fleet.yaml").write_text("sites: {north: [prod]}\n")
    return tmp_path


def test_every_command_is_called() -> None:
    assert [*CALLS] == [*COMMANDS]


@pytest.mark.parametrize("command", CALLS)
def test_a_missing_tool_is_a_line_with_its_fix(site: Path, command: str) -> None:
    done = run(command, *CALLS[command], folder=site)
    assert "internal error" not in done.stderr
    assert done.returncode == 0 or "Fix: " in done.stdout + done.stderr


def test_pulumi_is_installed_as_the_fix_says(site: Path) -> None:
    fix = f"run `make -C {ROOT} setup`, then `. {ROOT}/.venv/bin/activate`"
    assert run("review", "prod", folder=site).stderr == f"pulumi is not in PATH. Fix: {fix}\n"


def test_a_rehearsal_needs_make(site: Path) -> None:
    done = run("rehearse", "prod", folder=site)
    fix = "install it, on Debian with `apt-get install make`"
    assert (done.returncode, done.stderr) == (2, f"make is not in PATH. Fix: {fix}\n")
