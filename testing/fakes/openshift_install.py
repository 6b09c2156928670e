"""A stand-in for openshift-install on PATH, as 4.21 behaves: `create` consumes its input, and writes the same files.

The payload is that of `testing/payloads.py`, made now, for the domain of the rehearsal. `FAILS` in the environment
has the message with which `create` fails.
"""

import json
import os
import shlex
import sys
from datetime import UTC, datetime, timedelta
from pathlib import Path

import yaml

from testing import payloads
from testing.checkout import ROOT
from testing.kubeconfigs import write_kubeconfig

RELEASE = f"quay.io/okd/scos-release@sha256:{'5e' * 32}"
MIRROR = "https://rhcos.mirror.openshift.com/art/storage/prod/streams"
ISO, ISO_ARM64, QCOW2 = "15" * 32, "a6" * 32, "9c" * 32
"""Digests of the live ISOs, and of the unpacked qcow2 for amd64."""
CONFIG, STATE = "install-config.yaml", ".openshift_install_state.json"
VERSION = f"""\
openshift-install 4.21.0-okd-scos.1
built from commit a8bea03c72
release image {RELEASE}
release architecture amd64
"""


def put_on_path(folder: Path) -> dict[str, str]:
    """Write the stand-in's executable into a folder, and return the environment that has it first on PATH."""
    folder.mkdir(parents=True, exist_ok=True)
    tool = folder / "openshift-install"
    command = shlex.join([sys.executable, "-m", __name__])
    tool.write_text(f'#!/bin/sh\nPYTHONPATH={shlex.quote(str(ROOT))} exec {command} "$@"\n')
    tool.chmod(0o755)
    return {"PATH": os.pathsep.join([str(folder), os.environ["PATH"]])}


def main(words: list[str]) -> int:
    """Run one command; return its exit code."""
    match words:
        case ["version"]:
            print(VERSION, end="")
        case ["coreos", "print-stream-json"]:
            print(json.dumps(stream()))
        case ["create", what, "--dir", folder]:
            return _create(what, Path(folder))
    return 0


def stream() -> dict[str, object]:
    """Return the images of CoreOS."""

    def disk(file: str, sha256: str, **more: str) -> dict[str, object]:
        return {"disk": {"location": f"{MIRROR}/{file}", "sha256": sha256, **more}}

    qcow2 = disk("scos-qemu.x86_64.qcow2.gz", "77" * 32, **{"uncompressed-sha256": QCOW2})
    amd64 = {
        "metal": {"formats": {"iso": disk("scos-live-iso.x86_64.iso", ISO)}},
        "qemu": {"formats": {"qcow2.gz": qcow2}},
    }
    arm64 = {"metal": {"formats": {"iso": disk("scos-live-iso.aarch64.iso", ISO_ARM64)}}}
    return {"stream": "c10s", "architectures": {"x86_64": {"artifacts": amd64}, "aarch64": {"artifacts": arm64}}}


def _create(what: str, folder: Path) -> int:
    """Read the install-config, or the output of an earlier `create`, and write the next files."""
    config, manifests = folder / CONFIG, folder / "manifests"
    loaded = yaml.safe_load(config.read_text()) if config.exists() else {}
    (folder / ".openshift_install.log").write_text(json.dumps(loaded))
    if (failure := os.environ.get("FAILS")) or not (loaded.get("pullSecret") or manifests.is_dir()):
        failure = failure or 'invalid "install-config.yaml" file: pullSecret: Required value: '
        print(f"level=error msg=failed to fetch Ignition Configs: {failure}", file=sys.stderr)
        return 3
    if config.exists():
        print("level=info msg=Consuming Install Config from target directory", file=sys.stderr)
        config.unlink()
        (folder / STATE).write_text(json.dumps(loaded))
    if what == "manifests":
        for name in ("manifests", "openshift"):
            # The real one takes an existing folder as complete.
            (folder / name).mkdir(exist_ok=False)
        return 0
    _write_ignition(folder)
    print(f"level=info msg=Ignition-Configs created in: {folder} and {folder}/auth", file=sys.stderr)
    return 0


def _write_ignition(folder: Path) -> None:
    files = payloads.good(datetime.now(UTC) - timedelta(minutes=1))
    for name in ("manifests", "openshift"):
        for file in sorted((folder / name).glob("*")):
            payloads.put(files, f"/opt/openshift/{name}/{file.name}", file.read_text())
            file.unlink()
        if (folder / name).is_dir():
            (folder / name).rmdir()
    for name, content in files.items():
        _write(folder / f"{name}.ign", json.dumps(content))
    write_kubeconfig(folder).parent.chmod(0o750)
    _write(folder / "auth" / "kubeadmin-password", "aaaaa-bbbbb-ccccc-ddddd")
    _write(folder / "metadata.json", json.dumps({"clusterName": "okd"}))


def _write(path: Path, text: str) -> None:
    path.write_text(text)
    path.chmod(0o640)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
