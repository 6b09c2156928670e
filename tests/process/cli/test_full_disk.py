"""The disk of a project is full: Pulumi itself would leave the stack's file torn."""

import subprocess
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest
import yaml

from testing import plans
from testing.command_line import run
from testing.namespaces import needs_root
from testing.pulumi_env import pulumi_env

pytestmark = needs_root
PAGE_BYTES = 4096
STACK_FILE = Path("stacks/Pulumi.prod.yaml")


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A project with a stack, on a disk that holds 16 pages; its state is elsewhere."""
    for name, value in pulumi_env(tmp_path).items():
        monkeypatch.setenv(name, value)
    disk = tmp_path / "disk"
    disk.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={16 * PAGE_BYTES}", "none", disk], check=True)
    try:
        yield filled(disk)
    finally:
        subprocess.run(["umount", disk], check=True)


def filled(disk: Path) -> Path:
    """Give a disk the files of a project."""
    (disk / "Pulumi.yaml").write_text("name: okd-baremetal\nruntime: yaml\n")
    (disk / "stacks/prod").mkdir(parents=True)
    config = plans.install_config()
    for host in config["platform"]["baremetal"]["hosts"]:
        host["bmc"] |= {"username": "", "password": ""}  # one secret is left: each is a run of Pulumi
    (disk / "stacks/prod/install-config.yaml").write_text(yaml.safe_dump(config))
    return disk


def fill(disk: Path, *, pages: int) -> None:
    """Leave room for so many pages."""
    with (disk / "filler").open("wb", buffering=0) as file:
        with suppress(OSError):
            while True:
                file.write(bytes(PAGE_BYTES))
        file.truncate(file.tell() - pages * PAGE_BYTES)


@pytest.mark.parametrize("pages", [0, 1], ids=["no-copy", "a-copy"])
def test_a_full_disk_leaves_the_files_of_a_stack_whole(project: Path, pages: int) -> None:
    """The stack's file nearly fills a page: its copy fits into one that is left, and not it with another secret."""
    subprocess.run(["pulumi", "stack", "init", "prod", "--non-interactive"], cwd=project, check=True)
    (project / "Pulumi.prod.yaml").rename(project / STACK_FILE)
    with (project / "Pulumi.yaml").open("a") as settings:
        settings.write("stackConfigDir: stacks\n")
    options = (project / STACK_FILE).read_text() + "config:\n  okd-baremetal:note: "
    whole = f"{options}{'x' * (PAGE_BYTES - len(options) - 100)}\n"
    (project / STACK_FILE).write_text(whole)
    secrets = (project / "stacks/prod/install-config.yaml").read_text()
    fill(project, pages=pages)
    done = run("move-secrets", "prod", folder=project)
    assert done.returncode == 2, done
    assert "no space left on device" in done.stderr.lower()
    assert "Fix: make room on " in done.stderr
    assert (project / STACK_FILE).read_text() == whole
    assert (project / "stacks/prod/install-config.yaml").read_text() == secrets
    assert [path.name for path in (project / "stacks").iterdir() if path.name.startswith(".")] == []
    (project / "filler").unlink()
    assert run("move-secrets", "prod", folder=project).returncode == 0
