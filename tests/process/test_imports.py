"""Each process imports only what it works with: each library more is a wait, and on a busy machine a long one."""

import subprocess
import sys

import pytest

from testing.checkout import ROOT

PROVIDERS = sorted(f"providers.{file.parent.name}.provider" for file in ROOT.glob("providers/*/provider.py"))
OF_WIRES = {"botocore", "cryptography", "requests", "sushy", "urllib3"}
OF_THE_PROGRAM = {"assets.render", "cluster.install_config", "cluster.plan", "jinja2"}


@pytest.mark.parametrize(
    ("modules", "spared"),
    [
        # see requirements-check.in
        pytest.param(["cli.__main__", "cli.inspect.check"], OF_WIRES | {"jinja2", "pulumi"}, id="check"),
        pytest.param(["boot_media.keyfiles", "components.cluster"], OF_WIRES, id="program"),
        pytest.param(["pulumi.dynamic", *PROVIDERS], OF_WIRES | OF_THE_PROGRAM, id="plugin"),
    ],
)
def test_a_process_imports_only_what_it_works_with(modules: list[str], spared: set[str]) -> None:
    code = f"import sys, {', '.join(modules)}; print(*sys.modules)"
    loaded = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    found = loaded.stdout.split()
    assert not spared.intersection(found)
    assert set(modules) <= set(found)
