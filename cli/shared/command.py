"""A command of the command line, and the parser that imports the command's module only when it is asked for."""

import argparse
import inspect
from collections.abc import Callable
from dataclasses import dataclass
from pkgutil import resolve_name
from typing import Any


def _no_arguments(_: argparse.ArgumentParser) -> None:
    """Add nothing."""


@dataclass(frozen=True)
class Command:
    """A command, which its module defines beside its function.

    Args:
        run: Runs it, and returns the exit code. `--help` prints its docstring.
        add_arguments: Adds its arguments to its parser.
    """

    run: Callable[[argparse.Namespace], int]
    add_arguments: Callable[[argparse.ArgumentParser], None] = _no_arguments


class CommandParser(argparse.ArgumentParser):
    """The parser of a command.

    argparse parses with the parser of the chosen command only. So the other commands' modules are not imported:
    jinja2 and cryptography would slow `check` down, and pre-commit's environment has neither.

    Args:
        entry_point: The `Command`, as `package.module:NAME`; empty for a group of commands.
        named: Arguments of `argparse.ArgumentParser`.
    """

    def __init__(self, *, entry_point: str = "", **named: Any) -> None:
        super().__init__(**named)
        self._entry_point = entry_point

    def parse_known_args(self, args: Any = None, namespace: Any = None) -> Any:
        """Add the command's description and arguments, then parse; see `argparse.ArgumentParser`."""
        if self._entry_point:
            command: Command = resolve_name(self._entry_point)
            self.description = inspect.getdoc(command.run)
            self.set_defaults(run=command.run)
            command.add_arguments(self)
        return super().parse_known_args(args, namespace)


def add_stack(parser: argparse.ArgumentParser) -> None:
    """Add the argument STACK."""
    what = "a stack, with stacks/STACK/ and stacks/Pulumi.STACK.yaml"
    parser.add_argument("stack", metavar="STACK", help=what)


def add_stack_option(parser: argparse.ArgumentParser, then: str = "") -> None:
    """Add `--stack`, whose options join an install-config; `then` says what else follows."""
    parser.add_argument(
        "--stack", metavar="STACK", help=f"join it with the options in stacks/Pulumi.STACK.yaml{then}"
    )
