"""The programs that make boot media: what tools/ builds is what the program searches for."""

import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from base.errors import BootMediaError
from boot_media.tools import cache_dir, find_coreos_installer, find_nmstatectl
from testing.checkout import ROOT
from testing.namespaces import needs_root

COMMANDS = ("bash", "dirname", "flock", "mkdir")
"""What tools/coreos-installer and tools/nmstatectl need if nothing is to be built: cargo is not among them."""
HOME = {"HOME": "/a/home"}
CACHES = {
    "named": HOME | {"XDG_CACHE_HOME": "/a/cache"},
    "empty": HOME | {"XDG_CACHE_HOME": ""},
    "unnamed": HOME,
    "no-home": {},
}


@pytest.mark.parametrize("find", [find_coreos_installer, find_nmstatectl])
def test_the_tool_that_is_built_is_the_one_that_is_found(
    find: Callable[[], Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "bin").mkdir()
    for name in COMMANDS:
        (tmp_path / "bin" / name).symlink_to(shutil.which(name) or "")
    env = {"PATH": str(tmp_path / "bin"), "HOME": str(tmp_path)}
    for name, value in env.items():
        monkeypatch.setenv(name, value)
    monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
    with pytest.raises(BootMediaError) as missing:
        find()
    wanted = Path(str(missing.value).partition(" nor at ")[2].partition(". Fix:")[0])
    wanted.parent.mkdir(parents=True)
    wanted.touch(0o755)
    assert find() == wanted
    script = ROOT / "tools" / wanted.name
    done = subprocess.run(["bash", str(script)], env=env, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (0, f"{wanted}\n"), done.stderr


@pytest.mark.parametrize("cache", CACHES.values(), ids=CACHES)
def test_program_scripts_and_makefile_use_one_cache(cache: dict[str, str], monkeypatch: pytest.MonkeyPatch) -> None:
    env = {"PATH": "/usr/bin:/bin", **cache}
    for name in ("XDG_CACHE_HOME", "HOME"):
        monkeypatch.delenv(name, raising=False)
    for name, value in env.items():
        monkeypatch.setenv(name, value)
    of_scripts = ["bash", "-c", 'source tools/lib.sh && echo "$CACHE"']
    of_makefile = ["make", "--no-print-directory", "--eval", "cache: ; @echo $(CACHE)", "cache"]
    for command in (of_scripts, of_makefile):
        done = subprocess.run(command, cwd=ROOT, env=env, capture_output=True, text=True, check=True)
        assert done.stdout == f"{cache_dir()}\n"


CARGO = "wanted 1.88 or newer to build coreos-installer 0.27.0. Fix: rustup; Debian 12: apt-get install cargo-web"
GO = "wanted 1.21 or newer to build Pulumi. Fix: go.dev/doc/install; Debian 12: golang-go of bookworm-backports"


@pytest.mark.parametrize(
    ("script", "compiler", "error"),
    [
        pytest.param("coreos-installer", {"cargo": "cargo 0.66.0"}, f"cargo is 0.66.0, {CARGO}", id="old-cargo"),
        pytest.param("coreos-installer", {}, f"cargo is missing, {CARGO}", id="no-cargo"),
        pytest.param("pulumi-build", {"go": "go1.19.8"}, f"go is 1.19.8, {GO}", id="old-go"),
        pytest.param("pulumi-build", {}, f"go is missing, {GO}", id="no-go"),
    ],
)
def test_a_compiler_that_cannot_build_is_named_with_one_that_can(
    script: str, compiler: dict[str, str], error: str, tmp_path: Path
) -> None:
    for name in (*COMMANDS, "cut", "sort"):
        (tmp_path / name).symlink_to(shutil.which(name) or "")
    for name, version in compiler.items():
        (tmp_path / name).write_text(f"#!{tmp_path / 'bash'}\necho {version}\n")
        (tmp_path / name).chmod(0o755)
    command = [str(tmp_path / "bash"), str(ROOT / "tools" / script), "1.0.0", str(tmp_path / "out")]
    env = {"PATH": str(tmp_path), "HOME": str(tmp_path)}
    done = subprocess.run(command, env=env, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (1, f"{script}: {error}\n")


CARGO_INSTALL = """\
#!/bin/bash -e
[[ $1 == --version ]] && echo cargo 1.96.0 && exit
mkdir -p "${CARGO_TARGET_DIR:-$TMPDIR}"
printf '#!/bin/sh\\necho built >&2\\n' >"${CARGO_TARGET_DIR:-$TMPDIR}/build-script"
chmod +x "${CARGO_TARGET_DIR:-$TMPDIR}/build-script"
"${CARGO_TARGET_DIR:-$TMPDIR}/build-script"
while [[ $1 != --root ]]; do shift; done
mkdir -p "$2/bin" && touch "$2/bin/coreos-installer"
"""
"""As cargo: a build script runs in the folder of the build, which is in $TMPDIR unless one is named."""


@needs_root
def test_a_tool_is_built_where_tmp_runs_no_program(tmp_path: Path) -> None:
    """Hardened machines mount /tmp with noexec."""
    hardened, cache = tmp_path / "tmp", tmp_path / "cache"
    hardened.mkdir()
    (tmp_path / "cargo").write_text(CARGO_INSTALL)
    (tmp_path / "cargo").chmod(0o755)
    env = {"PATH": f"{tmp_path}:/usr/bin:/bin", "TMPDIR": str(hardened), "XDG_CACHE_HOME": str(cache)}
    script = f"mount -t tmpfs -o noexec none {hardened} && {ROOT}/tools/coreos-installer"
    done = subprocess.run(
        ["unshare", "--mount", "bash", "-c", script], env=env, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    (root,) = (cache / "okd-baremetal").glob("coreos-installer-*")
    assert done.stdout == f"{root}/bin/coreos-installer\n"
