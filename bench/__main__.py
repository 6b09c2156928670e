"""`python -m bench`: compare `pulumi preview` of this program with that of an empty one."""

import statistics
import subprocess
import tempfile
import time
from pathlib import Path

from testing import plans
from testing.checkout import copy_program
from testing.pulumi_env import pulumi_env

ROUNDS = 5
DIGESTS = {"bootstrap": "a" * 64, "master": "b" * 64, "worker": "c" * 64}


def project(folder: Path, *, empty: bool) -> dict[str, str]:
    """Copy the project, with a state of its own; return the environment for its commands."""
    program = folder / "program"
    copy_program(program)
    if empty:
        (program / "__main__.py").write_text("import pulumi\n")
    env = pulumi_env(folder) | {"PYTHONPATH": "", "PULUMI_STACK": plans.STACK}  # with an operator's pip
    run(folder, env, "stack", "init", plans.STACK)
    words = [word for name, digest in DIGESTS.items() for word in ("--plaintext", f"payload.{name}={digest}")]
    run(folder, env, "config", "set-all", "--path", *words, "--plaintext", f"media.base_iso.sha256={'d' * 64}")
    return env


def run(folder: Path, env: dict[str, str], *words: str) -> float:
    """Run one command, and return its seconds."""
    began = time.monotonic()
    subprocess.run(
        ["pulumi", *words, "--non-interactive"],
        cwd=folder / "program",
        env=env,
        check=True,
        stdout=subprocess.DEVNULL,
    )
    return time.monotonic() - began


def main() -> None:
    """Alternate both programs, so that a busy moment of the machine affects both."""
    with tempfile.TemporaryDirectory() as scratch:
        took: dict[str, list[float]] = {"empty": [], "3+2 servers": []}
        folders = {name: Path(scratch, name.replace(" ", "-")) for name in took}
        for folder in folders.values():
            folder.mkdir()
        envs = {name: project(folder, empty=name == "empty") for name, folder in folders.items()}
        for _ in range(ROUNDS):
            for name, folder in folders.items():
                took[name].append(run(folder, envs[name], "preview"))
    medians = {name: statistics.median(seconds) for name, seconds in took.items()}
    for name, seconds in took.items():
        print(f"preview, {name:12} median {medians[name]:.2f} s  (min {min(seconds):.2f}, max {max(seconds):.2f})")
    print(f"ratio: {medians['3+2 servers'] / medians['empty']:.2f}")


if __name__ == "__main__":
    main()
