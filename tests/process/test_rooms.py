"""The rules between the rooms (`[tool.importlinter]` in pyproject.toml): they hold, and each can fail."""

import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from testing.checkout import ROOT

PYPROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["importlinter"]
CONTRACTS = {each["id"]: each["name"] for each in PYPROJECT["contracts"]}
BREACHES = {
    "order": ("cluster/options.py", "import wires.bmc.client"),
    "order-fleet": ("components/cluster.py", "import fleet.plan"),
    "order-between-resources": ("providers/bmc_host/engine.py", "import providers.vip_held.engine"),
    "order-base": ("base/lock.py", "import cluster.options"),
    "pure": ("assets/render.py", "import subprocess"),
    "pure-fleet": ("fleet/plan.py", "import subprocess"),
    "engines": ("providers/bmc_host/engine.py", "import wires.redfish.sushy_bmc"),
    "stand-ins": ("components/cluster.py", "import testing.plans"),
    "yaml": ("payload/kubeconfig.py", "import yaml"),
    "kit": ("testing/plans.py", "import lab.shell"),
}
"""By contract, perhaps with the part that is broken: a file, and the line that breaks it."""


def lint(folder: Path) -> subprocess.CompletedProcess[str]:
    command = [str(Path(sys.executable).with_name("lint-imports")), "--no-cache"]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False, timeout=120)


def copied(folder: Path) -> None:
    for package in PYPROJECT["root_packages"]:
        shutil.copytree(ROOT / package, folder / package, ignore=shutil.ignore_patterns("__pycache__", "go"))
    shutil.copy2(ROOT / "pyproject.toml", folder)


def test_the_rules_hold() -> None:
    done = lint(ROOT)
    assert done.returncode == 0, done.stdout


def test_each_rule_has_a_breach() -> None:
    assert {contract for name in BREACHES for contract in CONTRACTS if name.startswith(contract)} == CONTRACTS.keys()


@pytest.mark.parametrize("name", BREACHES)
def test_a_breach_is_noticed(name: str, tmp_path: Path) -> None:
    copied(tmp_path)
    file, line = BREACHES[name]
    with (tmp_path / file).open("a") as source:
        source.write(f"\n{line}\n")
    done = lint(tmp_path)
    contract = next(each for each in CONTRACTS if name.startswith(each))
    assert done.returncode == 1
    broken = " ".join(done.stdout.split())
    assert f"{CONTRACTS[contract]} BROKEN" in broken
