"""A stand-in for openshift-install on PATH, as strict as the one of 4.22; sources are files of openshift/installer.

In the environment:

FAILS: the message with which `create` refuses the install-config.
ARCHITECTURE: that of the release, in place of amd64; `multi` is one for several.
"""

import hashlib
import json
import os
import shlex
import sys
from pathlib import Path

from testing.checkout import ROOT

RELEASE = f"quay.io/okd/scos-release@sha256:{'5e' * 32}"
MIRROR = "https://rhcos.mirror.openshift.com/art/storage/prod/streams"
ISO, ISO_ARM64, QCOW2 = "15" * 32, "a6" * 32, "9c" * 32
"""Digests of the live ISOs, and of the unpacked qcow2 for amd64, of the release's own stream."""
STREAMS = ("centos-10", "rhel-9", "rhel-10")
CONFIG, STATE, LOG = "install-config.yaml", ".openshift_install_state.json", ".openshift_install.log"
STATE_OF_CONFIG = "*installconfig.InstallConfig"
WRONG_CONFIG = 3  # cmd/openshift-install/command/waitfor.go, ExitCodeInstallConfigError
OTHER = 1  # logrus.Fatal


class RefusedError(Exception):
    """`create` ends with an exit code."""

    def __init__(self, message: str, code: int = WRONG_CONFIG) -> None:
        self.code = code
        super().__init__(message)


def put_on_path(folder: Path) -> dict[str, str]:
    """Write the stand-in's executable into a folder, and return the environment that has it first on PATH."""
    folder.mkdir(parents=True, exist_ok=True)
    tool = folder / "openshift-install"
    call = f"import sys; from {__name__} import main; sys.exit(main(sys.argv[1:]))"
    command = shlex.join([sys.executable, "-c", call])
    tool.write_text(f'#!/bin/sh\nPYTHONPATH={shlex.quote(str(ROOT))} exec {command} "$@"\n')
    tool.chmod(0o755)
    return {"PATH": os.pathsep.join([str(folder), os.environ["PATH"]])}


def main(words: list[str]) -> int:
    """Run one command; return its exit code."""
    try:
        match words:
            case ["version"]:
                print(version(), end="")
            case ["coreos", "print-stream-json", *flags]:
                print(json.dumps(stream(_stream_of(flags))))
            case ["create", ("manifests" | "ignition-configs") as what, "--dir", folder]:
                from testing.fakes.openshift_install_create import create  # noqa: PLC0415  (slow to import)

                create(what, Path(folder))
            case _:
                raise RefusedError(f'Error executing openshift-install: unknown command "{words[:1]}"', OTHER)
    except RefusedError as error:
        # A message of two lines is two entries of the log (cmd/openshift-install/command/log.go, FileHook).
        for line in str(error).splitlines():
            print(f"level={'error' if error.code == WRONG_CONFIG else 'fatal'} msg={line}", file=sys.stderr)
        return error.code
    return 0


def version() -> str:
    """Return what `version` prints (cmd/openshift-install/version.go), whatever image the environment names."""
    of_release = architecture()
    default = "default architecture amd64\n" if of_release in ("multi", "unknown") else ""
    return (
        "openshift-install 4.22.0-okd-scos.1\nbuilt from commit 0bd82bcf65\n"
        f"release image {RELEASE}\nrelease architecture {of_release}\n{default}"
    )


def stream(name: str = "") -> dict[str, object]:
    """Return the images of CoreOS of the release's own stream, or of another (pkg/coreoscli/cmd.go)."""

    def disk(file: str, sha256: str, **more: str) -> dict[str, object]:
        if name:
            file, sha256 = f"{name}/{file}", hashlib.sha256(f"{name}/{file}".encode()).hexdigest()
        return {"disk": {"location": f"{MIRROR}/{file}", "sha256": sha256, **more}}

    qcow2 = disk("scos-qemu.x86_64.qcow2.gz", "77" * 32, **{"uncompressed-sha256": QCOW2})
    amd64 = {
        "metal": {"formats": {"iso": disk("scos-live-iso.x86_64.iso", ISO)}},
        "qemu": {"formats": {"qcow2.gz": qcow2}},
    }
    arm64 = {"metal": {"formats": {"iso": disk("scos-live-iso.aarch64.iso", ISO_ARM64)}}}
    architectures = {"x86_64": {"artifacts": amd64}, "aarch64": {"artifacts": arm64}}
    return {"stream": name or "c10s", "architectures": architectures}


def _stream_of(flags: list[str]) -> str:
    match flags:
        case []:
            return ""
        case ["--stream", name] if name in STREAMS:
            return name
    raise RefusedError(f"Error executing openshift-install: invalid value {flags} for --stream", OTHER)


def architecture() -> str:
    """Return the architecture of the release."""
    return os.environ.get("ARCHITECTURE", "amd64")
