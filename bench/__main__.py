"""`python -m bench`: what this program adds to a `pulumi preview`, beside a program that declares nothing."""

import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

CHECKOUT = Path(__file__).parents[1]
PROGRAM = ("Pulumi.yaml", "__main__.py", "cluster", "assets", "components", "providers", "stacks")
ROUNDS = 5
DIGESTS = {"bootstrap": "a" * 64, "master": "b" * 64, "worker": "c" * 64}


def project(folder: Path, *, empty: bool) -> dict[str, str]:
    """A copy of the project with its own state; the environment that its commands need."""
    for name in PROGRAM:
        source = CHECKOUT / name
        if source.is_dir():
            shutil.copytree(source, folder / name, ignore=shutil.ignore_patterns("__pycache__", "payload"))
        else:
            shutil.copy2(source, folder / name)
    (folder / ".venv").symlink_to(sys.prefix)
    if empty:
        (folder / "__main__.py").write_text("import pulumi\n")
    state, home = folder / "state", folder / "home"
    state.mkdir()
    home.mkdir()
    env = {
        **os.environ,
        "PULUMI_BACKEND_URL": f"file://{state}",
        "PULUMI_HOME": str(home),
        "PULUMI_STACK": "rehearsal",
        "PULUMI_CONFIG_PASSPHRASE": "bench",
    }
    run(folder, env, "stack", "init", "rehearsal")
    words = [word for name, digest in DIGESTS.items() for word in ("--plaintext", f"payload.{name}={digest}")]
    run(folder, env, "config", "set-all", "--path", *words, "--plaintext", f"media.base_iso.sha256={'d' * 64}")
    return env


def run(folder: Path, env: dict[str, str], *words: str) -> float:
    """Seconds that one command took."""
    began = time.monotonic()
    subprocess.run(
        ["pulumi", *words, "--non-interactive"], cwd=folder, env=env, check=True, stdout=subprocess.DEVNULL
    )
    return time.monotonic() - began


def main() -> None:
    """Alternate both programs, so that a busy moment of the machine meets both."""
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
