"""A machine with the rendered scripts."""

from pathlib import Path

import pytest

from assets.contract import BIN
from assets.render import render_bootstrap, render_role
from cluster.plan import ClusterPlan, Role


@pytest.fixture
def scripts(plan: ClusterPlan, tmp_path: Path) -> Path:
    """A machine's folder, with every script of the rehearsal in `bin`; see `run_on_a_machine`."""
    folder = tmp_path / "bin"
    folder.mkdir()
    for file in (*render_bootstrap(plan), *(file for role in Role for file in render_role(plan, role))):
        if file.path.startswith(BIN):
            (folder / file.name).write_text(file.text)
            (folder / file.name).chmod(file.mode)
    (tmp_path / "etc" / "okd-baremetal").mkdir(parents=True)
    return tmp_path
