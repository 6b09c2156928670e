"""DMTF's own validators of a Redfish service. tools/redfish-validators installs them."""

import json
import os
import subprocess
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from testing.checkout import ROOT
from testing.fakes.fleet.fleet import Fleet

ROWS = """
import json, sys
from openpyxl import load_workbook
rows = load_workbook(sys.argv[1])["Results"].iter_rows(values_only=True)
print(json.dumps(list(rows), default=str))
"""
"""Prints the rows of a report; for the Python of the validators' own environment."""


@dataclass(frozen=True)
class Validator:
    """A validator, whose report has one row for each thing that it tests.

    Args:
        row: The columns that name such a thing.
        schemas: Whether it needs the schemas of the standard.
        trusts: Whether it checks the certificate of the BMC.
    """

    name: str
    row: tuple[str, ...] = ()
    schemas: bool = False
    trusts: bool = False


SERVICE = Validator("rf_service_validator", ("URI", "Property"), schemas=True)
PROTOCOL = Validator("rf_protocol_validator", ("Assertion", "Method", "URI"), trusts=True)
USE_CASES = Validator("rf_use_case_checkers", ("Category", "Test Name", "Operation"))
INTEROP = Validator("rf_interop_validator")


@cache
def _tool(name: str) -> Path:
    """Run a script of tools/, which prints the path of what it has installed."""
    return Path(subprocess.check_output([ROOT / "tools" / name], text=True).strip())


def accepts(validator: Validator, fleet: Fleet, folder: Path, *arguments: str) -> bool:
    """Run a validator on the first BMC of a fleet, and return whether nothing in its report fails.

    Args:
        folder: An empty folder, for the report.
    """
    login = ["--user", fleet.options.username, "--password", fleet.options.password]
    options = ["--rhost", fleet.base(0), *login, "--report-dir", str(folder), *arguments]
    if validator.schemas:
        options += ["--skipschema", "--schema_directory", str(_tool("redfish-schemas"))]
    if validator.trusts:
        ca = folder / "ca.pem"
        ca.write_text(fleet.ca)
        options += ["--ca-bundle", str(ca)]
    # The variables of this process may name a proxy, or other CAs.
    env = {"PATH": os.environ["PATH"], "HOME": str(folder)}
    command = _tool("redfish-validators") / validator.name
    done = subprocess.run([command, *options], env=env, cwd=folder, capture_output=True, text=True, check=False)
    assert len(list(folder.rglob("*.xlsx"))) == 1, done.stdout + done.stderr
    return done.returncode == 0


def failures(validator: Validator, fleet: Fleet, folder: Path) -> list[str]:
    """Run a validator as `accepts` does, and return the rows of its report that fail, each with its message."""
    accepted = accepts(validator, fleet, folder)
    (report,) = folder.rglob("*.xlsx")
    columns, *rows = json.loads(subprocess.check_output([_tool("redfish-validators") / "python", "-c", ROWS, report]))
    named = [dict(zip(columns, row, strict=True)) for row in rows]
    failed = [_text(validator, row) for row in named if row["Result"] == "FAIL"]
    assert accepted is not bool(failed)
    return failed


def _text(validator: Validator, row: dict[str, object]) -> str:
    message = " ".join(str(row["Message"]).split())
    return f"{' | '.join(str(row[column] or '-') for column in validator.row)}: {message}"
