"""Stand in for pip where Pulumi's language host starts it, once per command: `python -m pip list -v --format json`.

The language host looks for packages of plugins only, of which this lists the same as pip, without pip's quarter of a
second of CPU time.
"""

import json
import sys
import sysconfig
from pathlib import Path

if sys.argv[1:] != ["list", "-v", "--format", "json"]:
    sys.exit(f"stand-in for pip: {sys.argv[1:]}")
PACKAGES = Path(sysconfig.get_path("purelib"))

# The folder of an installed package's metadata is named `<name>-<version>.dist-info`.
named = (folder.stem.split("-") for folder in PACKAGES.glob("pulumi*.dist-info"))
print(json.dumps([{"name": name, "version": version, "location": str(PACKAGES)} for name, version in named]))
