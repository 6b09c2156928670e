"""DMTF's own programs that judge a Redfish service. tools/redfish-validators installs them."""

import json
import os
import subprocess
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Self

from testing.checkout import ROOT
from testing.fakes.fleet.fleet import Fleet

ROWS = """
import json, sys
from openpyxl import load_workbook
rows = load_workbook(sys.argv[1])["Results"].iter_rows(values_only=True)
print(json.dumps(list(rows), default=str))
"""
"""Prints the rows of a report; for the Python of the programs' own environment."""


@dataclass(frozen=True)
class Program:
    """A program, whose report has one row for each thing that it judges.

    Args:
        row: The columns that name such a thing.
        schemas: Whether it needs the schemas of the standard.
        trusts: Whether it checks the certificate of the BMC.
    """

    name: str
    row: tuple[str, ...] = ()
    schemas: bool = False
    trusts: bool = False


SERVICE = Program("rf_service_validator", ("URI", "Property"), schemas=True)
PROTOCOL = Program("rf_protocol_validator", ("Assertion", "Method", "URI"), trusts=True)
USE_CASES = Program("rf_use_case_checkers", ("Category", "Test Name", "Operation"))
INTEROP = Program("rf_interop_validator")


@dataclass(frozen=True)
class Service:
    """A Redfish service, and the login to it."""

    url: str
    username: str
    password: str
    ca: str
    """PEM text."""

    @classmethod
    def of(cls, fleet: Fleet) -> Self:
        """Return the first BMC of a fleet."""
        return cls(fleet.base(0), fleet.options.username, fleet.options.password, fleet.ca)


@cache
def _tool(name: str) -> Path:
    """Run a script of tools/, which prints the path of what it has installed."""
    return Path(subprocess.check_output([ROOT / "tools" / name], text=True).strip())


def accepts(program: Program, service: Service, folder: Path, *arguments: str) -> bool:
    """Run a program, and return whether nothing in its report fails.

    Args:
        folder: An empty folder, for the report.
    """
    login = ["--rhost", service.url, "--username", service.username, "--password", service.password]
    options = [*login, "--report-dir", str(folder), *arguments]
    if program.schemas:
        options += ["--skipschema", "--schema_directory", str(_tool("redfish-schemas"))]
    if program.trusts:
        ca = folder / "ca.pem"
        ca.write_text(service.ca)
        options += ["--ca-bundle", str(ca)]
    # The variables of this process may name a proxy, or other CAs.
    env = {"PATH": os.environ["PATH"], "HOME": str(folder)}
    command = _tool("redfish-validators") / program.name
    done = subprocess.run([command, *options], env=env, cwd=folder, capture_output=True, text=True, check=False)
    assert len(list(folder.rglob("*.xlsx"))) == 1, done.stdout + done.stderr
    return done.returncode == 0


def failures(program: Program, service: Service, folder: Path) -> list[str]:
    """Run a program, and return the rows of its report that fail, each with its message."""
    accepted = accepts(program, service, folder)
    (report,) = folder.rglob("*.xlsx")
    columns, *rows = json.loads(subprocess.check_output([_tool("redfish-validators") / "python", "-c", ROWS, report]))
    named = [dict(zip(columns, row, strict=True)) for row in rows]
    failed = [_text(program, row) for row in named if row["Result"] == "FAIL"]
    assert accepted is not bool(failed)
    return failed


def _text(program: Program, row: dict[str, object]) -> str:
    message = " ".join(str(row["Message"]).split())
    return f"{' | '.join(str(row[column] or '-') for column in program.row)}: {message}"
