"""Every byte that the rehearsal's machines read. `make accept` rewrites it; that diff is reviewed as behaviour."""

import shutil
from collections.abc import Iterable, Iterator

import pytest

from assets.render import RenderedFile, render_bootstrap, render_role, render_server
from cluster.plan import ClusterPlan, Role
from tests import plans

GOLDEN = plans.ROOT / "tests" / "golden" / plans.STACK

pytestmark = pytest.mark.golden


def renders(plan: ClusterPlan) -> Iterator[tuple[str, tuple[RenderedFile, ...]]]:
    """Everything that is rendered, by its folder."""
    yield "bootstrap", render_bootstrap(plan)
    for role in Role:
        yield role.value, render_role(plan, role)
    for server in plan.servers:
        yield f"hosts/{server.name}", render_server(plan, server)


def tree(plan: ClusterPlan) -> dict[str, bytes]:
    """The golden tree as it would be written today."""
    return {f"{folder}{file.path}": file.text.encode() for folder, files in renders(plan) for file in files}


def accept(files: Iterable[tuple[str, bytes]]) -> None:
    shutil.rmtree(GOLDEN, ignore_errors=True)
    for path, content in files:
        (GOLDEN / path).parent.mkdir(parents=True, exist_ok=True)
        (GOLDEN / path).write_bytes(content)


def test_renders_are_the_accepted_ones_byte_for_byte(plan: ClusterPlan, accept_golden: bool) -> None:
    today = tree(plan)
    if accept_golden:
        accept(today.items())
    accepted = {str(path.relative_to(GOLDEN)): path for path in GOLDEN.rglob("*") if path.is_file()}
    assert sorted(today) == sorted(accepted), "files came or went: `make accept`, then review"
    changed = [path for path, content in today.items() if content != accepted[path].read_bytes()]
    for path in changed:
        assert today[path].decode() == accepted[path].read_text(), f"{path} changed: `make accept`, then review"
    assert not changed
