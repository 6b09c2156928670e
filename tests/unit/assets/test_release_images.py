"""The images of the services, asked from the release image: by the machine's script, with a fake podman."""

import subprocess
from pathlib import Path
from typing import Any

import pytest

from assets.contract import IMAGES
from assets.file import Files, Reader
from assets.render import render_bootstrap, render_role
from cluster.plan import Role
from testing import clusters, plans
from testing.namespaces import SBIN

PODMAN = """#!/bin/bash
# The registry answers from the third request on. A container runs its entry point with the programs of the release.
echo "$*" >>asked
(($(wc -l <asked) > 2)) || { echo "Error: no such host" >&2; exit 125; }
echo "Trying to pull" >&2
until [[ $1 == --entrypoint=* ]]; do shift; done
PATH=$PWD/release exec "${1#*=}" "${@:3}"
"""
OPERATOR = """#!/bin/bash
# It fails in the first container, at the last image.
read -r asked <<<"$(/usr/bin/wc -l asked)"
[[ $1 == image && "$2 ${asked%% *}" != "coredns 3" ]] || exit 1
echo "registry.example.com/okd/of-release@sha256:$2"
"""
SLEEP = """#!/bin/bash
echo "$1 s, then $(ls images* 2>/dev/null)" >>slept
"""
NODE = "/var/lib/kubelet/config.json"
MACHINES = {"bootstrap": "/root/.docker/config.json", "control-plane": NODE, "compute": NODE}


def files_of(machine: str) -> Files:
    intent = clusters.intent("rehearsal")
    return render_bootstrap(intent) if machine == "bootstrap" else render_role(intent, Role(machine))


def text_of(machine: str, name: str) -> str:
    (text,) = [file.text for file in files_of(machine) if file.name == name]
    return text


@pytest.mark.parametrize(("machine", "pull_secret"), MACHINES.items(), ids=str)
def test_the_script_asks_for_ever_and_writes_the_releases_own_images(
    tmp_path: Path, machine: str, pull_secret: str
) -> None:
    programs = {"bin/podman": PODMAN, "bin/sleep": SLEEP, "release/cluster-version-operator": OPERATOR}
    for name, text in programs.items():
        path = tmp_path / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(text)
        path.chmod(0o755)
    script = text_of(machine, "okd-images.sh")
    assert IMAGES in script
    unit = text_of(machine, "okd-images.service")
    (command,) = [line.removeprefix("ExecStart=") for line in unit.splitlines() if line.startswith("ExecStart=")]
    _, *arguments = command.split()
    run = subprocess.run(
        ["bash", "-c", script.replace(IMAGES, "images"), "okd-images.sh", *arguments],
        cwd=tmp_path, env={"PATH": f"{tmp_path}/bin:{SBIN}"}, capture_output=True, text=True, check=False, timeout=20,
    )  # fmt: skip
    assert run.returncode == 0, run.stderr
    assert (tmp_path / "slept").read_text() == "5 s, then images.new\n" * 3
    asked = (tmp_path / "asked").read_text().splitlines()
    assert asked == [asked[0]] * 4
    command, _, names = asked[0].partition(" -ec ")
    assert command == f"run --rm --net=none --authfile={pull_secret} --entrypoint=/bin/sh {clusters.RELEASE}"
    wanted = "KEEPALIVED_IMAGE=keepalived-ipfailover HAPROXY_IMAGE=haproxy-router COREDNS_IMAGE=coredns"
    assert names.endswith(f" sh {wanted}")
    assert (tmp_path / "images").read_text().splitlines() == [
        "KEEPALIVED_IMAGE=registry.example.com/okd/of-release@sha256:keepalived-ipfailover",
        "HAPROXY_IMAGE=registry.example.com/okd/of-release@sha256:haproxy-router",
        "COREDNS_IMAGE=registry.example.com/okd/of-release@sha256:coredns",
    ]
    assert sorted(path.name for path in tmp_path.iterdir()) == ["asked", "bin", "images", "release", "slept"]


@pytest.mark.parametrize("machine", MACHINES, ids=str)
def test_each_service_starts_after_the_search_with_its_own_image(machine: str) -> None:
    search = text_of(machine, "okd-images.service")
    assert f"\nConditionFileNotEmpty=!{IMAGES}\n" in search
    (before,) = [line.removeprefix("Before=").split() for line in search.splitlines() if line.startswith("Before=")]
    units = [file for file in files_of(machine) if file.reader is Reader.SYSTEMD and "/usr/bin/podman" in file.text]
    names = {file.name.removeprefix("okd-").removesuffix(".service") for file in units}
    assert names == (
        {"keepalived", "haproxy", "coredns"} if machine == Role.CONTROL_PLANE else {"keepalived", "coredns"}
    )
    for unit in units:
        assert unit.name in before
        assert f"\nEnvironmentFile={IMAGES}\n" in unit.text
        name = unit.name.removeprefix("okd-").removesuffix(".service")
        assert f" \\\n    ${{{name.upper()}_IMAGE}} \\\n" in unit.text


@pytest.mark.parametrize("options", [{"images": clusters.IMAGES}, {"runtime": "host"}], ids=["named", "host"])
def test_a_release_is_not_asked_for_named_or_unused_images(options: dict[str, Any]) -> None:
    intent = plans.intent({**plans.options(), **options})
    files = (*render_bootstrap(intent), *(file for role in Role for file in render_role(intent, role)))
    assert [file.path for file in files if "images" in file.name or IMAGES in file.text] == []
