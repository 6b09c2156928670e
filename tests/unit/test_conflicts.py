"""No file of the checkout has what git leaves where two branches changed the same lines."""

import re

from testing.checkout import ROOT
from testing.git import git

MARKER = re.compile(rb"^(<{7}|\|{7}|>{7})( |$)", re.MULTILINE)
"""`=======` alone may underline a heading."""


def test_no_file_has_a_marker_of_a_conflict() -> None:
    files = [ROOT / name for name in git(ROOT, "ls-files").splitlines()]
    assert len(files) > 1000
    assert [file for file in files if file.is_file() and MARKER.search(file.read_bytes())] == []
