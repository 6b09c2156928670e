"""Files that no reader expects, through every command that reads them: one clear line, exit code 2."""

import os
from pathlib import Path
from subprocess import CompletedProcess

import pytest

from testing import plans
from testing.command_line import run

CONFIG, STACK = Path("stacks/prod/install-config.yaml"), Path("stacks/Pulumi.prod.yaml")
KUBECONFIG = Path("stacks/prod/payload/auth/kubeconfig")
BOMB = "a0: &a0 [x,x,x,x,x,x,x,x,x]\n" + "".join(
    f"a{depth}: &a{depth} [{','.join([f'*a{depth - 1}'] * 9)}]\n" for depth in range(1, 10)
)
VALUES = {
    "date": "2026-13-45",
    "number": "0x_",
    "int": "!!int x",
    "bool": "!!bool maybe",
    "loop": "&a [*a]",
    "deep": "[" * 50_000,
    "deep-maps": "{a: " * 50_000,
    "digits": "9" * 5_000,
    "twice": "{a: 1, a: 2}",
    "undefined": "*nothing",
    "binary": "!!binary x",
    "tag": "!!python/object/apply:os.getcwd []",
}
ODD = {name: f"okd-baremetal:vrids: {value}\n" for name, value in VALUES.items()} | {"bomb": BOMB}
TEXTS_FOR_GO = ("date", "number")
"""As Pulumi reads them; not each command looks at the option."""
COMMANDS = (
    *(("check", CONFIG), ("check", "--stack", CONFIG), ("clashes", CONFIG), ("plan", CONFIG, "--stack", "prod")),
    *(
        ("gather", "prod"),
        ("payload", "prod"),
        ("payload-config", CONFIG),
        ("bmc", "check", CONFIG, "--stack", "prod"),
    ),
    *(
        ("render", CONFIG, "--stack", "prod", "--out", "out"),
        ("fleet", "check", "fleet.yaml"),
        ("move-secrets", "prod"),
    ),
    ("init", "prod"),
)


@pytest.fixture
def site(tmp_path: Path) -> Path:
    """A site with one stack."""
    (tmp_path / KUBECONFIG).parent.mkdir(parents=True)
    (tmp_path / CONFIG).write_bytes(plans.INSTALL_CONFIG.read_bytes())
    (tmp_path / STACK).write_bytes(plans.STACK_CONFIG.read_bytes())
    (tmp_path / "fleet.yaml").write_text("sites:\n  here: [prod]\n")
    return tmp_path


def refused(done: CompletedProcess[str], file: Path | str) -> None:
    """Assert that a command has refused a file in a line, and not more than that."""
    lines = [line for line in (done.stdout + done.stderr).splitlines() if line.startswith(f"{file}: ")]
    assert (done.returncode, len(lines)) == (2, 1), done
    assert "internal error" not in done.stderr
    assert "Fix: " in lines[0] or "cannot be read" in lines[0]


@pytest.mark.parametrize("odd", ODD)
@pytest.mark.parametrize("words", [words for words in COMMANDS if "prod" in words], ids=lambda words: words[0])
def test_odd_yaml_in_a_stacks_options_is_one_line(words: tuple[str | Path, ...], odd: str, site: Path) -> None:
    """S11 of issue 43."""
    indented = "".join(f"  {line}\n" for line in ODD[odd].splitlines())
    (site / STACK).write_text(f"config:\n{indented}")
    done = run(*words, folder=site)
    if odd in TEXTS_FOR_GO:
        assert "internal error" not in done.stderr
    else:
        refused(done, STACK)


@pytest.mark.parametrize("odd", ["loop", "deep", "deep-maps", "twice", "undefined", "bomb", "int", "bool"])
@pytest.mark.parametrize("words", [words for words in COMMANDS if CONFIG in words], ids=lambda words: words[0])
def test_odd_yaml_in_an_install_config_is_one_line(words: tuple[str | Path, ...], odd: str, site: Path) -> None:
    """S11 and S13 of issue 43: 50 kB of brackets ended `check` by a segmentation fault."""
    (site / CONFIG).write_text(ODD[odd])
    refused(run(*words, folder=site), CONFIG)


@pytest.mark.parametrize("kind", ["device", "fifo", "folder"])
@pytest.mark.parametrize("words", COMMANDS, ids=lambda words: words[0])
def test_what_is_no_regular_file_is_one_line(words: tuple[str | Path, ...], kind: str, site: Path) -> None:
    """S24 of issue 43."""
    for file in (CONFIG, STACK, Path("fleet.yaml")):
        (site / file).unlink()
        if kind == "device":
            (site / file).symlink_to("/dev/zero")
        elif kind == "fifo":
            os.mkfifo(site / file)
        else:
            (site / file).mkdir()
    done = run(*words, folder=site)
    said = "Is a directory" if kind == "folder" else "not a regular file"
    assert (done.returncode, said in done.stdout + done.stderr) == (2, True), done
    assert "internal error" not in done.stderr
