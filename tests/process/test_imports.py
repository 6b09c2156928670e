"""Each process imports only what it works with: each library more is a wait, and on a busy machine a long one."""

import subprocess
import sys
from collections.abc import Iterator, Set

import pytest

from cli.__main__ import COMMANDS, Commands
from testing.checkout import ROOT

PROVIDERS = sorted(f"providers.{file.parent.name}.provider" for file in ROOT.glob("providers/*/provider.py"))
OF_WIRES = {"botocore", "cryptography", "requests", "sushy", "urllib3"}
OF_THE_PROGRAM = {"assets.render", "cluster.install_config", "cluster.plan", "jinja2"}
OF_A_COMMAND = {"pydantic", "jinja2"}
"""What a command may import, unless it is named below; a report of a run is drawn by `cli.runs.after_run`."""
OF_COMMANDS: dict[str, Set[str]] = {
    "cli.fleet.keys": {"pydantic", "cryptography"},
    "cli.fleet.operate": {"pydantic", "cryptography", "grpc", "temporalio"},
    "cli.fleet.worker": {"pydantic", "cryptography", "grpc", "opentelemetry", "pulumi", "temporalio"},
    **dict.fromkeys(["cli.runs.after_run", "cli.runs.chart", "cli.runs.report"], frozenset({"jinja2"})),
    **dict.fromkeys(
        ["cli.inspect.bmc_url", "cli.rehearse", "cli.runs.log", "cli.runs.verify", "cli.start.new_site"], frozenset()
    ),
}
LARGE = OF_WIRES | {"grpc", "jinja2", "opentelemetry", "pulumi", "pydantic", "temporalio"}


def modules_of(commands: Commands) -> Iterator[str]:
    """Yield the module of each command."""
    for entry, _ in commands.values():
        if isinstance(entry, str):
            yield entry.partition(":")[0]
        else:
            yield from modules_of(entry)


def groups() -> Iterator[tuple[list[str], Set[str]]]:
    """Yield the modules of commands that may import the same of the large libraries, with those libraries."""
    modules = {*modules_of(COMMANDS), "cli.runs.after_run"}
    allowed = {module: OF_COMMANDS.get(module, OF_A_COMMAND) for module in modules}
    for each in sorted({tuple(sorted(libraries)) for libraries in allowed.values()}):
        yield sorted(module for module in modules if allowed[module] == {*each}), {*each}


def loaded_by(modules: list[str]) -> list[str]:
    """Return all modules that a process has once it has imported some."""
    code = f"import sys, {', '.join(modules)}; print(*sys.modules)"
    loaded = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    return loaded.stdout.split()


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
    found = loaded_by(modules)
    assert not spared.intersection(found)
    assert set(modules) <= set(found)


@pytest.mark.parametrize(("modules", "libraries"), [pytest.param(*group, id=group[0][0]) for group in groups()])
def test_a_command_imports_no_large_library_that_it_does_not_need(modules: list[str], libraries: Set[str]) -> None:
    assert LARGE.intersection(loaded_by(modules)) == libraries
