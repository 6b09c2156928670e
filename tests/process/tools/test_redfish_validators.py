"""tools/redfish-validators and tools/redfish-schemas print where the parts of `make redfish-conformance` are."""

import hashlib
import os
import subprocess
from pathlib import Path

import pytest

from testing.checkout import ROOT

LOCK = hashlib.sha256((ROOT / "requirements-conformance.txt").read_bytes()).hexdigest()[:16]


@pytest.mark.parametrize(
    ("tool", "made", "printed"),
    [
        ("redfish-validators", f"redfish-validators-{LOCK}/complete", f"redfish-validators-{LOCK}/bin"),
        ("redfish-schemas", "redfish-schemas-0.22.1/ServiceRoot_v1.xml", "redfish-schemas-0.22.1"),
    ],
)
def test_what_is_in_the_cache_is_taken(tool: str, made: str, printed: str, tmp_path: Path) -> None:
    cache = tmp_path / "okd-baremetal"
    (cache / made).parent.mkdir(parents=True)
    (cache / made).touch()
    env = {"PATH": os.environ["PATH"], "HOME": str(tmp_path), "XDG_CACHE_HOME": str(tmp_path)}
    done = subprocess.run([ROOT / "tools" / tool], env=env, capture_output=True, text=True, check=True)
    assert (done.stdout, done.stderr) == (f"{cache / printed}\n", "")
