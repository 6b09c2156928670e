"""The line of docs/how-to/monitor-a-cluster.md for the node exporter, run by a shell as cron does."""

import subprocess
from pathlib import Path

import pytest

from testing.checkout import ROOT

PAGE = ROOT / "docs" / "how-to" / "monitor-a-cluster.md"
FORMER = "the rows of five minutes ago\n"


@pytest.mark.parametrize(
    ("printed", "code", "taken"),
    [
        pytest.param("rows 0\n# EOF\n", 0, True, id="good"),
        pytest.param("rows 2\n# EOF\n", 1, True, id="wrong"),
        pytest.param("", 2, False, id="inputs"),
        pytest.param("", 1, False, id="internal-error"),
        pytest.param("rows", 1, False, id="broken-off"),
    ],
)
def test_the_former_rows_stay_unless_all_new_ones_are_there(
    tmp_path: Path, printed: str, code: int, taken: bool
) -> None:
    (tmp_path / "rows").write_text(printed)
    (tmp_path / "okd-baremetal").write_text(f"#!/bin/sh\ncat {tmp_path}/rows\nexit {code}\n")
    (tmp_path / "okd-baremetal").chmod(0o755)
    read = tmp_path / "prod.prom"
    read.write_text(FORMER)
    [line] = [line for line in PAGE.read_text().splitlines() if line.startswith("*/5 * * * * root ")]
    command = line.removeprefix("*/5 * * * * root ").replace("/var/lib/node_exporter", str(tmp_path))
    command = command.replace("/srv/clusters", str(tmp_path))
    subprocess.run(["/bin/sh", "-c", command], env={"PATH": f"{tmp_path}:/usr/bin:/bin"}, check=False)
    assert read.read_text() == (printed if taken else FORMER)
