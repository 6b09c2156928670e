"""The commands of `python -m cluster`: each prints its lines and returns its exit code."""

import argparse
import json
import re
import sys
from collections.abc import Iterable
from dataclasses import asdict
from pathlib import Path
from typing import Any, NamedTuple

from cluster.bmc_url import BmcUrlError, parse_bmc_url
from cluster.command_line import GOOD, REFUSED
from cluster.errors import ConfigError
from cluster.files import read_text
from cluster.fleet import Cluster, clashes
from cluster.install_config import InstallConfig, read
from cluster.install_config.read import mapping
from cluster.install_config.rules.hosts import LOGIN
from cluster.install_config.rules.names import name_fault
from cluster.json_schema import schemas
from cluster.options import read_stack_file
from cluster.payload_config import payload_config as payload_text
from cluster.plan import load_intent, plan_json
from cluster.problems import Problem
from cluster.vrrp import router_ids


class _Judged(NamedTuple):
    """One file and what is wrong with it."""

    file: str
    text: str
    config: InstallConfig
    """An empty one if the file cannot be read."""
    problems: tuple[Problem, ...]


def check(options: argparse.Namespace) -> int:
    """Each problem of each file, or that it is good."""
    return _verdict([_judge(file) for file in options.files])


def fleet(options: argparse.Namespace) -> int:
    """As `check`, and each clash with an earlier file."""
    files = [_judge(file) for file in options.files]
    found = clashes([Cluster(each.file, each.config) for each in files])
    return _verdict(each._replace(problems=(*each.problems, *more)) for each, more in zip(files, found, strict=True))


def plan(options: argparse.Namespace) -> int:
    """The plan of an install-config, alone or with a stack's options."""
    try:
        stack = None if options.stack is None else read_stack_file(Path("stacks", f"Pulumi.{options.stack}.yaml"))
        planned = load_intent(options.file, stack)
    except ConfigError as error:
        return _refused(error.problems)
    print(json.dumps(plan_json(planned), indent=2))
    return GOOD


def schema(_: argparse.Namespace) -> int:
    """The schemas of both inputs."""
    print(json.dumps(schemas(), indent=2))
    return GOOD


def payload_config(options: argparse.Namespace) -> int:
    """The payload's install-config. It is a secret, so no terminal gets it."""
    if sys.stdout.isatty():
        command = f"python -m cluster payload-config {options.file} > DIR/install-config.yaml"
        return _refused([f"it holds the pull secret, which no terminal should show: {command}"])
    file = _judge(options.file)
    # Logins may stand in the stack's secrets instead, and the payload has no use for them.
    if found := [problem for problem in file.problems if not LOGIN.fullmatch(problem.path)]:
        return _refused(f"{file.file}: {problem}" for problem in found)
    print(payload_text(mapping(file.text), file.config.networking), end="")
    return GOOD


def vrid(options: argparse.Namespace) -> int:
    """The router ids of each name."""
    faults = {name: fault for name in options.names if (fault := name_fault(name))}
    for name in options.names:
        if name not in faults:
            print(name, *router_ids(name))
    return _refused(str(Problem("", fault)) for fault in faults.values())


def bmc_url(options: argparse.Namespace) -> int:
    """How each address is read."""
    faulty = False
    for url in options.urls:
        found: dict[str, Any]
        try:
            found = asdict(parse_bmc_url(url))
        except BmcUrlError as error:
            faulty = True
            found = {"url": _without_login(url), "error": str(error)}
        print(json.dumps(found))
    return REFUSED if faulty else GOOD


def _judge(file: str) -> _Judged:
    """Read and judge one file; notices are said at once."""
    text = ""
    try:
        text = read_text(Path(file))
        reading = read(text)
    except ConfigError as error:
        return _Judged(file, text, InstallConfig(), tuple(Problem("", line) for line in error.problems))
    for notice in reading.notices:
        print(f"{file}: {notice._replace(text=f'notice: {notice.text}')}", file=sys.stderr)
    return _Judged(file, text, reading.config, reading.problems)


def _verdict(files: Iterable[_Judged]) -> int:
    good = True
    for file in files:
        good = good and not file.problems
        for line in file.problems or ("ok",):
            print(f"{file.file}: {line}")
    return GOOD if good else REFUSED


def _refused(lines: Iterable[str]) -> int:
    """Say why; no line means that nothing is refused."""
    code = GOOD
    for line in lines:
        print(line, file=sys.stderr)
        code = REFUSED
    return code


def _without_login(url: str) -> str:
    """A URL that may be none; all before its last @ goes, since passwords may hold any character."""
    return re.sub(r"^([A-Za-z][A-Za-z0-9+.-]*://)?.*@", r"\1", url, flags=re.DOTALL)
