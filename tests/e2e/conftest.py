from collections.abc import Iterator
from pathlib import Path

import pytest

from testing.fakes.emulator import Emulator, running
from testing.project import CROWD, MACHINES, Project


@pytest.fixture(scope="session")
def bmc(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Emulator]:
    with running(tmp_path_factory.mktemp("bmc"), MACHINES | CROWD) as emulator:
        yield emulator


@pytest.fixture
def project(tmp_path: Path, bmc: Emulator) -> Iterator[Project]:
    bmc.reset()
    project = Project(tmp_path, bmc)
    yield project
    project.end()
