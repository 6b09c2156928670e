"""`okd-baremetal isos …`, for BMCs that fetch their ISOs from a web server of the site."""

import hashlib
import os
import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml

from assets.ignition import keyfiles_in, own_config
from assets.render import render_role, render_server
from boot_media.host_isos import IsoMedia, Recipe
from boot_media.iso import Iso
from boot_media.tools import find_coreos_installer
from boot_media.web_server import WebServer
from cluster.plan import ClusterPlan, Server
from testing import plans
from testing.command_line import run
from testing.install_configs import arm64
from testing.live_iso import kernel, live_iso

PAYLOAD = {name: f'{{"ignition":{{"version":"3.2.0"}},"of":"{name}"}}'.encode() for name in plans.PAYLOAD}


class Project:
    """A folder with one stack, `prod`: the rehearsal's."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.out, base = folder, folder / "out", folder / "base.iso"
        payload = folder / "stacks" / "prod" / "payload"
        payload.mkdir(parents=True)
        for name, content in PAYLOAD.items():
            (payload / f"{name}.ign").write_bytes(content)
        (payload.parent / "install-config.yaml").write_text(plans.INSTALL_CONFIG.read_text())
        base.write_bytes(live_iso())
        self.base_sha256 = hashlib.sha256(base.read_bytes()).hexdigest()
        self.options = plans.options(
            payload={name: hashlib.sha256(content).hexdigest() for name, content in PAYLOAD.items()},
            media={
                "url": "https://web.example.com/isos",
                "base_iso": {"sha256": self.base_sha256, "url": base.as_uri()},
            },
        )
        self.tool = find_coreos_installer()

    def run(self, stack: str = "prod", **options: Any) -> subprocess.CompletedProcess[str]:
        config = {f"okd-baremetal:{name}": value for name, value in (self.options | options).items()}
        (self.folder / "stacks" / "Pulumi.prod.yaml").write_text(yaml.safe_dump({"config": config}))
        environment = {
            "XDG_CACHE_HOME": str(self.folder),
            "PATH": f"{self.tool.parent}:{os.environ['PATH']}",
        }
        return run("isos", stack, "--out", self.out, folder=self.folder, **environment)


@pytest.fixture
def project(tmp_path: Path) -> Project:
    return Project(tmp_path)


class Uploaded(WebServer):
    """A web server that has every ISO."""

    def __init__(self) -> None:
        super().__init__("http://192.0.2.7/isos", "prod")

    def publish(self, host: str, iso: Iso, *, over_tls: bool = False) -> str:
        return f"{self.url}/{iso.url_path(host)}"


def wanted(project: Project, plan: ClusterPlan, server: Server) -> Path:
    """Return the place where `up` looks for a host's ISO."""
    own, pool = render_server(plan, server), server.role.pool
    recipe = Recipe(
        stack="prod",
        payload_name=pool,
        payload_sha256=project.options["payload"][pool],
        architecture=plan.architectures[server.role],
        base_sha256=project.base_sha256,
        base_url="",
        own_ignition={server.name: own_config([*render_role(plan, server.role), *own])},
        keyfiles={server.name: keyfiles_in(own)},
        hints={server.name: server.root_device_hints.given},
    )
    with IsoMedia(Uploaded(), recipe, print) as made:
        while made.publish(server.name) is None:
            pass
        return project.out / made.digest(server.name) / f"{server.name}.iso"


def test_each_server_s_iso_is_written_where_up_reads_it(
    project: Project, plan: ClusterPlan, monkeypatch: pytest.MonkeyPatch
) -> None:
    done = project.run()
    assert (done.returncode, done.stderr) == (0, "base ISO: 1 of 1 MiB\n")
    monkeypatch.chdir(project.folder)
    monkeypatch.setenv("XDG_CACHE_HOME", str(project.folder))
    monkeypatch.setenv("PATH", str(project.tool.parent), prepend=os.pathsep)
    paths = [wanted(project, plan, server) for server in plan.servers]
    assert done.stdout.splitlines() == [str(path) for path in paths]
    assert sorted(project.out.rglob("*.iso")) == sorted(paths)
    assert {path.stat().st_mode & 0o777 for path in paths} == {0o600}
    assert {path.stat().st_mode & 0o777 for path in (project.out, *project.out.iterdir())} == {0o700}
    for path in paths:
        shown = subprocess.run([project.tool, "iso", "ignition", "show", path], check=True, capture_output=True)
        assert b"dest.ign" in shown.stdout


def test_existing_isos_are_kept_and_changed_ones_are_written(project: Project) -> None:
    first = project.run().stdout.splitlines()
    before = {path: Path(path).stat().st_mtime_ns for path in first}
    assert project.run().stdout.splitlines() == first
    assert {path: Path(path).stat().st_mtime_ns for path in first} == before
    addresses = {**project.options["node_addresses"], "okd-worker-1": ["192.168.111.26"]}
    again = project.run(node_addresses=addresses)
    assert again.returncode == 0
    assert {path: Path(path).stat().st_mtime_ns for path in first} == before
    assert len({*first, *again.stdout.splitlines()}) > len(first)


def test_servers_of_each_architecture_get_the_iso_of_theirs(project: Project) -> None:
    path = project.folder / "stacks" / "prod" / "install-config.yaml"
    config = plans.install_config()
    arm64(config)
    path.write_text(yaml.safe_dump(config))
    done = project.run()
    assert (done.returncode, done.stdout, project.out.exists()) == (2, "", False)
    assert done.stderr.startswith(
        "stacks/Pulumi.prod.yaml: media.base_iso_arm64.sha256: missing, and servers are of "
    )
    base = project.folder / "arm64.iso"
    base.write_bytes(live_iso(kernel(0xAA64)))
    iso = {"sha256": hashlib.sha256(base.read_bytes()).hexdigest(), "url": base.as_uri()}
    done = project.run(media={**project.options["media"], "base_iso_arm64": iso})
    assert done.stderr == "base ISO: 1 of 1 MiB\nbase ISO of arm64: 1 of 1 MiB\n"
    of_arm64 = {Path(line).stem: kernel(0xAA64) in Path(line).read_bytes() for line in done.stdout.splitlines()}
    assert of_arm64 == {name: "worker" in name for name in plans.HOSTS}


@pytest.mark.parametrize(
    ("stack", "options", "line"),
    [
        pytest.param("none", {}, "stacks/Pulumi.none.yaml: cannot be read: No such file or directory", id="no-stack"),
        pytest.param(
            "prod", {"node_addresses": {}}, "node_addresses.okd-master-0: no IPv4 address. Fix: ", id="address"
        ),
        pytest.param(
            "prod", {"media": {"secure": "cipher"}}, "stacks/Pulumi.prod.yaml: media: missing", id="encrypted"
        ),
        pytest.param(
            "prod",
            {"payload": plans.PAYLOAD},
            f"stacks/prod/payload/master.ign: sha256 is {hashlib.sha256(PAYLOAD['master']).hexdigest()}, the stack ",
            id="another-payload",
        ),
    ],
)
def test_each_fault_is_one_line_and_nothing_is_written(
    project: Project, stack: str, options: dict[str, Any], line: str
) -> None:
    done = project.run(stack, **options)
    assert (done.returncode, done.stdout, project.out.exists()) == (2, "", False)
    assert done.stderr.startswith(line)


def test_an_unwritable_folder_is_one_line(project: Project) -> None:
    project.out.write_text("a file")
    done = project.run()
    assert (done.returncode, done.stdout) == (2, "")
    last = done.stderr.splitlines()[-1]
    assert last.startswith(f"{project.out}/")
    assert last.endswith(".iso: cannot be written (File exists). Fix: name another --out")
