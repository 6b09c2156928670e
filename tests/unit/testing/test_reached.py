"""Which tests a change reaches."""

from pathlib import Path

import pytest

from testing import reached
from testing.git import committed, git

SOURCES = {
    "base/clock.py": "",
    "wires/__init__.py": "from base.clock import Clock",
    "wires/link.py": "import base.clock",
    "cli/status.py": "def late():\n    from wires import link",
    "assets/files.py": "",
    "tests/conftest.py": "from base import clock",
    "tests/unit/test_clock.py": "from base import clock",
    "tests/unit/test_status.py": "from cli.status import late",
    "tests/unit/test_files.py": "import assets.files",
    "tests/unit/any/conftest.py": "",
    "tests/unit/any/test_any.py": "",
    "tests/e2e/test_up.py": "from cli.status import late",
}
ALL = ["any/test_any.py", "test_clock.py", "test_files.py", "test_status.py"]


@pytest.mark.parametrize(
    ("changed", "tests"),
    [
        ("base/clock.py", ["test_clock.py", "test_status.py"]),
        ("wires/link.py", ["test_status.py"]),
        ("wires/__init__.py", ["test_status.py"]),
        ("cli/status.py", ["test_status.py"]),
        ("tests/unit/test_clock.py", ["test_clock.py"]),
        ("tests/unit/test_deleted.py", []),
        ("assets/templates/haproxy.cfg.j2", ["test_files.py"]),
        ("tests/unit/any/conftest.py", ["any/test_any.py"]),
        ("tests/conftest.py", ALL),
        ("tests/golden/x", []),
        ("docs/index.md", []),
        ("Makefile", []),
    ],
)
def test_a_change_reaches_the_tests_that_import_it(changed: str, tests: list[str]) -> None:
    """Also by other modules, by a package, and by an import inside of a function."""
    assert reached.reached([changed], SOURCES, ("tests/unit/",)) == [f"tests/unit/{test}" for test in tests]


def test_files_that_were_deleted_or_are_new_count_as_changed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for name, source in SOURCES.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(source)
    committed(tmp_path)
    monkeypatch.setattr(reached, "ROOT", tmp_path)
    base = git(tmp_path, "rev-parse", "HEAD")
    assert (reached.main(base, ["tests/unit"]), capsys.readouterr().out.split()) == (0, [])
    (tmp_path / "assets/files.py").unlink()
    committed_since = tmp_path / "cli/status.py"
    committed_since.write_text("pass")
    git(tmp_path, "commit", "--all", "-qm", "second")
    (tmp_path / "tests/unit/test_new.py").write_text("")
    assert reached.changed_files(base) == {"assets/files.py", "cli/status.py", "tests/unit/test_new.py"}
    assert reached.main(base, ["tests/unit"]) == 0
    assert capsys.readouterr().out.split() == [f"tests/unit/test_{name}.py" for name in ("files", "new", "status")]
