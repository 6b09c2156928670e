"""The image of a release: what `tools/image` has built, the workflow of a tag, and `make setup` in the image."""

import hashlib
import os
import re
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Callable
from pathlib import Path

import pytest
import yaml

from testing.checkout import ROOT
from testing.git import committed, git
from testing.workflows import assert_linted, bash

SetUp = Callable[[], subprocess.CompletedProcess[str]]

PYPROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())
VERSION = PYPROJECT["project"]["version"]
FOLDERS = {"tools", *PYPROJECT["tool"]["importlinter"]["root_packages"]} - {"lab", "testing"}
FILES = (".gitignore", "Containerfile", "Makefile", "README.md", "pyproject.toml")
WORKFLOW = ROOT / ".github" / "workflows" / "release.yml"
CONTAINERFILE = (ROOT / "Containerfile").read_text()
LISTS = [(ROOT / "tools" / name).read_text() for name in ("packages.txt", "image.txt")]

PROGRAMS = {"pulumi": "v3.259.0", "coreos-installer": "coreos-installer 0.27.0", "nmstatectl": "nmstatectl 2.2.62"}
HELPERS = ("pulumi-language-python", "pulumi-language-python-exec", "pulumi-resource-pulumi-python")
LAST = 'for last; do :; done; echo "$*" >>"$ASKED"'
BUILDERS = {
    "mmdebstrap": f'{LAST}; touch "$last"',
    "buildah": f"""{LAST}
case $* in
    *" build "*) (cd "$last" && ls -d ./* ./bin/* && git -C program log) >"$ASKED.context" ;;
    *) file=${{last#oci-archive:}}; touch "${{file%:*:*}}" ;;
esac""",
}
# The environment of the checkout: this one, except that it makes no wheels.
PYTHON = f'{LAST}; if [ "$2" = pip ]; then mkdir "$last"; else exec {sys.executable} "$@"; fi'


def write(file: Path, script: str) -> None:
    file.write_text(f"#!/bin/sh\n{script}\n")
    file.chmod(0o755)


@pytest.fixture(scope="module")
def checkout(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A checkout of the program, with stand-ins of the builders and of the tools that the image takes from here."""
    folder = tmp_path_factory.mktemp("image")
    programs, environment = folder / "bin", folder / "checkout" / ".venv" / "bin"
    for name in FOLDERS:
        shutil.copytree(ROOT / name, folder / "checkout" / name, ignore=shutil.ignore_patterns("__pycache__"))
    for name in (*FILES, *(path.name for path in ROOT.glob("requirements*.txt"))):
        shutil.copy2(ROOT / name, folder / "checkout")
    committed(folder / "checkout")
    programs.mkdir()
    environment.mkdir(parents=True)
    for name, script in BUILDERS.items():
        write(programs / name, script)
    for name in (*PROGRAMS, *HELPERS):
        write(programs / name, f"echo {PROGRAMS.get(name, '')}")
    write(environment / "python", PYTHON)
    return folder / "checkout"


@pytest.fixture(scope="module")
def built(checkout: Path) -> subprocess.CompletedProcess[str]:
    """What `tools/image` has printed; what it asked of the stand-ins is in `asked`."""
    return run(checkout, "tools/image", f"v{VERSION}")


@pytest.fixture
def pinned(checkout: Path, tmp_path: Path) -> Path:
    """A site's clone of the program, at the commit of `checkout`, which is the image's."""
    git(checkout, "clone", "--quiet", str(checkout), str(tmp_path / "pinned"))
    return tmp_path / "pinned"


def run(checkout: Path, *command: str, **environment: str) -> subprocess.CompletedProcess[str]:
    folder = checkout.parent
    env = {
        "PATH": f"{folder / 'bin'}:{os.environ['PATH']}",
        "HOME": str(folder),
        "ASKED": str(folder / "asked"),
        **environment,
    }
    return subprocess.run(command, cwd=checkout, env=env, capture_output=True, text=True, check=False)


def test_the_image_is_built_of_what_its_containerfile_copies(
    checkout: Path, built: subprocess.CompletedProcess[str]
) -> None:
    archive = checkout / "dist" / f"okd-baremetal-{VERSION}.tar"
    assert (built.returncode, built.stdout) == (0, f"{archive}\n"), built.stderr
    assert archive.exists()

    context = (checkout.parent / "asked.context").read_text()
    copied = re.findall(r"^(?:ADD|COPY) (\S+)|source=(\w+)", CONTAINERFILE, re.M)
    assert len(copied) == 4
    assert {f"./{one or other}" for one, other in copied} <= {*context.split()}
    assert {f"./bin/{name}" for name in (*PROGRAMS, *HELPERS)} <= {*context.split()}
    assert set(PROGRAMS) <= {*re.findall(r"([\w-]+) (?:--)?version\b", CONTAINERFILE)}
    commit = git(checkout, "rev-parse", "HEAD")
    assert f"commit {commit}\n" in context
    asked = (checkout.parent / "asked").read_text()
    assert f"--build-arg VERSION={VERSION} --build-arg COMMIT={commit}" in asked
    assert not list((checkout.parent / ".cache" / "okd-baremetal").glob(".image.*"))


@pytest.mark.usefixtures("built")
def test_its_packages_are_those_that_no_build_alone_needs(checkout: Path) -> None:
    asked = (checkout.parent / "asked").read_text()
    included = re.search(r"--include=(\S+)", asked)
    assert included
    names = set(included[1].split(","))
    lines = [line.partition("#")[0].split() for text in LISTS for line in text.splitlines()]
    build_alone = {words[0] for words in lines if words[2:] == ["build"]}
    assert build_alone >= {"gcc", "libvirt-dev", "python3-dev"}
    assert names == {words[0] for words in lines if words} - build_alone
    assert not {name for name in names if name.endswith("-dev")}


def test_the_list_is_of_the_archive_that_make_image_left(
    checkout: Path, built: subprocess.CompletedProcess[str]
) -> None:
    archive = Path(built.stdout.strip())
    listed = archive.with_suffix(".cdx.json")
    pins = hashlib.sha256((checkout / "tools" / "go" / "syft" / "go.sum").read_bytes()).hexdigest()[:16]
    write(checkout.parent / ".cache" / "okd-baremetal" / f"syft-{pins}", LAST)
    done = run(checkout, "tools/sbom")
    assert (done.returncode, done.stdout) == (0, f"{listed}\n"), done.stderr
    assert (checkout.parent / "asked").read_text().splitlines()[-1] == (
        f"scan oci-archive:{archive} --quiet --source-name okd-baremetal --source-version {VERSION} "
        f"--output cyclonedx-json={listed}"
    )


def test_without_an_image_there_is_nothing_to_list(checkout: Path, pinned: Path) -> None:
    (pinned / ".venv").symlink_to(checkout / ".venv")
    done = run(pinned, "tools/sbom")
    archive = pinned / "dist" / f"okd-baremetal-{VERSION}.tar"
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr == f"sbom: {archive} is missing: run `make image` first\n"


def test_a_tag_that_is_not_the_version_is_refused(checkout: Path) -> None:
    done = run(checkout, "tools/image", "v9.9.9")
    assert (done.returncode, done.stdout) == (2, "")
    what = f"the tag is v9.9.9, and the program's version is {VERSION}"
    assert done.stderr == f"image: {what}. Fix: the tag, or pyproject.toml\n"


def test_what_no_commit_has_is_refused(checkout: Path, pinned: Path) -> None:
    (pinned / ".venv").symlink_to(checkout / ".venv")
    (pinned / "README.md").write_text("")
    done = run(pinned, "tools/image")
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith("image: files differ from the commit")


def test_a_failure_of_a_builder_is_shown(checkout: Path, tmp_path: Path) -> None:
    write(tmp_path / "mmdebstrap", "echo no mirror; exit 1")
    done = run(checkout, "tools/image", PATH=f"{tmp_path}:{checkout.parent / 'bin'}:{os.environ['PATH']}")
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr == "no mirror\nimage: mmdebstrap failed, see above\n"


class TestSetupInTheImage:
    @pytest.fixture
    def set_up(self, checkout: Path, pinned: Path) -> SetUp:
        return lambda: run(pinned, "make", "setup", OKD_BAREMETAL_IMAGE=str(checkout))

    def test_it_links_the_images_environment_each_time(self, checkout: Path, pinned: Path, set_up: SetUp) -> None:
        for _ in range(2):
            done = set_up()
            assert (done.returncode, done.stderr) == (0, "")
            assert (pinned / ".venv").readlink() == checkout / ".venv"
        assert git(pinned, "status", "--porcelain") == ""

    def test_another_commit_is_refused(self, pinned: Path, set_up: SetUp) -> None:
        commit = git(pinned, "rev-parse", "HEAD")
        git(pinned, "commit", "--quiet", "--allow-empty", "-m", "another")
        self.refused(
            pinned, set_up(), f"this clone is {git(pinned, 'rev-parse', 'HEAD')}, and the image has {commit}. Fix: "
        )

    def test_a_changed_file_is_refused(self, pinned: Path, set_up: SetUp) -> None:
        (pinned / "README.md").write_text("")
        self.refused(pinned, set_up(), f"this clone is {git(pinned, 'rev-parse', 'HEAD')}-dirty, and the image has ")

    def test_an_environment_of_outside_is_refused(self, pinned: Path, set_up: SetUp) -> None:
        (pinned / ".venv").mkdir()
        self.refused(pinned, set_up(), ".venv was made outside of the image. Fix: remove it, or use another clone\n")

    def refused(self, pinned: Path, done: subprocess.CompletedProcess[str], line: str) -> None:
        assert done.returncode == 2
        assert done.stderr.startswith(f"setup-in-image: {line}")
        assert not (pinned / ".venv").is_symlink()


def test_actionlint_and_shellcheck_accept_the_workflow(tmp_path: Path) -> None:
    assert_linted(WORKFLOW, "$REGISTRY_USER", tmp_path)


def test_the_workflow_signs_and_publishes_what_make_made(tmp_path: Path) -> None:
    (tmp_path / "bin").mkdir()
    note = 'echo "${0##*/} $*" >>"$ASKED"'
    for name in ("apt-get", "git", "gh"):
        write(tmp_path / "bin" / name, note)
    write(
        tmp_path / "bin" / "skopeo", f'{note}; if [ "$1" = copy ]; then echo sha256:d1 >"$3"; else cat >>"$ASKED"; fi'
    )
    write(tmp_path / "bin" / "cosign", f'{note}; [ "$1" = sign ] || touch "$4"')
    name = "dist/okd-baremetal-1.2.3"
    write(
        tmp_path / "bin" / "make",
        f"{note}; mkdir -p dist; touch {name}.$([ $1 = sbom ] && echo cdx.json || echo tar)",
    )
    (tmp_path / "repository").mkdir()
    image, publish = yaml.safe_load(WORKFLOW.read_text())["jobs"].values()
    given = {"REGISTRY": "registry.example.com/us", "REGISTRY_USER": "we", "REGISTRY_PASSWORD": "secret"}
    for step in (*image["steps"], *publish["steps"]):
        if "run" in step:
            done = run(tmp_path / "repository", *bash(step["run"]), GITHUB_REF_NAME="v1.2.3", **given)
            assert (done.returncode, done.stderr) == (0, "")
    asked = (tmp_path / "asked").read_text().splitlines()
    assert asked[2:] == [
        f"git config --global --add safe.directory {tmp_path / 'repository'}",
        "make image TAG=v1.2.3",
        "make sbom",
        f"cosign sign-blob --yes --bundle {name}.cdx.json.sigstore.json {name}.cdx.json",
        f"cosign sign-blob --yes --bundle {name}.tar.sigstore.json {name}.tar",
        "skopeo login --username we --password-stdin registry.example.com",
        "secret",
        f"skopeo copy --digestfile digest oci-archive:{name}.tar docker://registry.example.com/us/okd-baremetal:1.2.3",
        "cosign sign --yes registry.example.com/us/okd-baremetal@sha256:d1",
        f"gh release create v1.2.3 --verify-tag --notes CHANGELOG.md says what changes. {name}.cdx.json "
        f"{name}.cdx.json.sigstore.json {name}.tar {name}.tar.sigstore.json",
    ]
    assert publish["permissions"]["id-token"] == "write"
