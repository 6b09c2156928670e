"""The commands of docs/how-to/add-manifests.md: what they write is a payload without faults."""

import re
import subprocess
from pathlib import Path
from typing import Any

import yaml

from payload.checks import Expected, check_payload
from payload.reading import IgnitionFile
from testing.documents import DOCS
from testing.namespaces import SBIN
from testing.payloads import DOMAIN, NOW, payload, put

INSTALLER = """#!/bin/bash
[[ "$*" == "create "*" --dir payload" ]] || exit 1
echo "$2" >>asked
mkdir -p "$4/openshift"
"""


def test_the_commands_for_time_servers_write_machine_configs_that_are_accepted(tmp_path: Path) -> None:
    text = (DOCS / "how-to/add-manifests.md").read_text().partition("## Example: time servers")[2]
    (commands,) = re.findall(r"```console\n(.*?)```", text, re.S)
    (tmp_path / "openshift-install").write_text(INSTALLER)
    (tmp_path / "openshift-install").chmod(0o755)
    script = "set -euo pipefail\n" + commands.replace("<directory>", "payload")
    subprocess.run(["bash", "-c", script], cwd=tmp_path, env={"PATH": f"{tmp_path}:{SBIN}"}, check=True, timeout=20)
    assert (tmp_path / "asked").read_text().split() == ["manifests", "ignition-configs"]

    written = {path.name: path.read_text() for path in sorted((tmp_path / "payload/openshift").iterdir())}
    assert [*written] == ["99-master-chrony.yaml", "99-worker-chrony.yaml"]
    for role in ("master", "worker"):
        manifest: dict[str, Any] = yaml.safe_load(written[f"99-{role}-chrony.yaml"])
        assert manifest["metadata"]["labels"] == {"machineconfiguration.openshift.io/role": role}
        (file,) = IgnitionFile.model_validate(manifest["spec"]["config"]).storage.files
        assert file.path == "/etc/chrony.conf"
        assert file.contents.data().startswith(b"server ntp1.example.com iburst\n")

    def with_manifests(files: dict[str, Any]) -> None:
        for name, manifest in written.items():
            put(files, f"/opt/openshift/openshift/{name}", manifest)

    def faults(ours: str) -> list[str]:
        expected = Expected(DOMAIN, {}, (ours,))
        return [fault.what for fault in check_payload(Path("x"), payload(with_manifests), expected, NOW)]

    assert faults("/etc/okd-baremetal/Corefile") == []
    (what,) = faults("/etc/chrony.conf")
    assert "/etc/chrony.conf (in /opt/openshift/openshift/99-worker-chrony.yaml)" in what
