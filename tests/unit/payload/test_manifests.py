"""The commands of docs/how-to/add-manifests.md: what they write is a payload without faults."""

import re
import subprocess
import sys
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
import yaml

from payload.checks import Expected, check_payload
from payload.reading import IgnitionFile
from testing import plans
from testing.checkout import ROOT
from testing.documents import DOCS
from testing.fakes import openshift_install
from testing.namespaces import SBIN
from testing.payloads import DOMAIN

OPENSHIFT = "/opt/openshift/openshift"
NAMES = ("bootstrap", "master", "worker")


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A folder with the stack `prod`, and a `bin` with openshift-install's stand-in, this program, and no Pulumi."""
    (tmp_path / "stacks" / "prod").mkdir(parents=True)
    (tmp_path / "stacks/prod/install-config.yaml").write_bytes(plans.INSTALL_CONFIG.read_bytes())
    (tmp_path / "stacks/Pulumi.prod.yaml").write_text("config: {}")
    openshift_install.put_on_path(tmp_path / "bin")
    ours = f'PYTHONPATH={ROOT} exec {sys.executable} -m cli "$@"'
    for name, script in {"okd-baremetal": ours, "pulumi": "exit 0"}.items():
        (tmp_path / "bin" / name).write_text(f"#!/bin/sh\n{script}\n")
        (tmp_path / "bin" / name).chmod(0o755)
    return tmp_path


def commands(section: str) -> str:
    """Return the commands of the document's part that begins with a line."""
    text = (DOCS / "how-to/add-manifests.md").read_text().partition(section)[2]
    first = re.search(r"```console\n(.*?)```", text, re.S)
    assert first
    return first[1]


def run(project: Path, script: str) -> None:
    env = {"PATH": f"{project / 'bin'}:{SBIN}"}
    subprocess.run(["bash", "-c", f"set -euo pipefail\n{script}"], cwd=project, env=env, check=True, timeout=60)


def manifests_in(folder: Path) -> dict[str, str]:
    """Return the manifests of the site in a payload, by name."""
    contents = IgnitionFile.model_validate_json((folder / "bootstrap.ign").read_bytes()).contents(f"{OPENSHIFT}/*")
    return {Path(path).name: content.data().decode() for path, content in contents.items()}


def test_the_commands_for_time_servers_write_valid_machine_configs(project: Path) -> None:
    run(project, commands("## Example: time servers"))
    folder = project / "stacks/prod/payload"
    written = {name: text for name, text in manifests_in(folder).items() if "chrony" in name}
    assert [*written] == ["99-master-chrony.yaml", "99-worker-chrony.yaml"]
    for role in ("master", "worker"):
        manifest: dict[str, Any] = yaml.safe_load(written[f"99-{role}-chrony.yaml"])
        assert manifest["metadata"]["labels"] == {"machineconfiguration.openshift.io/role": role}
        (file,) = IgnitionFile.model_validate(manifest["spec"]["config"]).storage.files
        assert file.path == "/etc/chrony.conf"
        assert file.contents.data().startswith(b"server ntp1.example.com iburst\n")

    def faults(ours: str) -> list[str]:
        contents = {name: (folder / f"{name}.ign").read_bytes() for name in NAMES}
        faults = check_payload(folder, contents, Expected(DOMAIN, {}, (ours,)), datetime.now(UTC))
        return [fault.what for fault in faults]

    assert faults("/etc/okd-baremetal/Corefile") == []
    (what,) = faults("/etc/chrony.conf")
    assert "/etc/chrony.conf (in /opt/openshift/openshift/99-worker-chrony.yaml)" in what


def test_the_commands_by_hand_put_manifests_into_the_payload(project: Path) -> None:
    (project / "made").mkdir()
    (project / "mine").mkdir()
    run(project, "okd-baremetal payload-config stacks/prod/install-config.yaml >made/install-config.yaml")
    mine = {f"99-mine.{ending}": f"kind: ConfigMap\n# {ending}\n" for ending in ("yaml", "yml", "json")}
    for name, text in mine.items():
        (project / "mine" / name).write_text(text)
    run(project, commands("# Add").replace("<directory>", "made").replace("<your manifests>", "mine"))
    assert mine.items() <= manifests_in(project / "made").items()
