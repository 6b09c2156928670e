"""A machine with the rendered scripts."""

from collections.abc import Iterator, Sequence
from functools import cache
from pathlib import Path

import pytest

from assets.contract import BIN
from assets.render import render_bootstrap, render_role
from cluster.plan import ClusterPlan, Role
from providers.base.errors import Fault
from providers.rendered_asset import readers


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


_REAL = readers._refusal


@cache
def _refusal(path: str, command: tuple[str, ...], content: bytes, complaint: bytes, hide: str) -> Fault | None:
    return _REAL(path, command, content, complaint, hide=hide)


@pytest.fixture(scope="module", autouse=True)
def _asked_once() -> Iterator[None]:
    """Clusters share most of their files: a reader is asked about each of them once."""

    def once(
        path: str, command: Sequence[str], content: bytes = b"", complaint: bytes = b"", *, hide: str = "\0"
    ) -> Fault | None:
        return _refusal(path, tuple(command), content, complaint, hide)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(readers, "_refusal", once)
        yield
