"""`verify`: the command of the verifier, which itself imports nothing of this program."""

from cli.runs.verifier import add_arguments, verify
from cli.shared.command import Command

COMMAND = Command(verify, add_arguments)
