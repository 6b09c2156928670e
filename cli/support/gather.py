"""`gather`: one archive without secrets, of all that a colleague or a report needs. Nothing is changed."""

import argparse
import json
import platform
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from importlib.metadata import version as version_of
from pathlib import Path
from typing import Any

from assets.render import render
from base.backend import environment, without_login
from base.errors import ConfigError, Fault, OkdBaremetalError
from base.files import read_file
from base.log_file import FOLDER, runs_of
from base.masking import MASK, mask_document, texts_in
from base.yaml_text import parse_yaml, yaml_of
from cli.bmc import tree_of
from cli.inspect.render import complete_intent
from cli.shared.command import Command, add_stack
from cli.shared.command_line import EXIT_OK, install_config, stack_file
from cli.shared.interrupts import threads
from cli.shared.stack_options import pulumi, stack_options
from cli.shared.version import version
from cli.support.archive import Bundle
from cli.support.bootstrap_journals import console_of, journals_of
from cluster.files import read_yaml
from cluster.plan import load_bmcs, load_intent, plan_json
from cluster.plan.model import PlannedHost
from cluster.stack_file import is_encrypted, read_options, read_stack_file
from payload.reading import payload_folder
from providers.pulumi.workers import WORKERS

TOOLS = {
    "pulumi": ("version",),
    "coreos-installer": ("--version",),
    "nmstatectl": ("--version",),
    "openshift-install": ("version",),
    "virsh": ("--version",),
}
LIBRARIES = ("pulumi", "sushy", "pydantic")
TOOL_S = 10


def _add_arguments(parser: argparse.ArgumentParser) -> None:
    add_stack(parser)
    what = "the archive (default: gather-STACK-TIME.tar.gz)"
    parser.add_argument("--out", type=Path, metavar="FILE", help=what)


def gather(options: argparse.Namespace) -> int:
    """Write one archive without secrets, for a report or a colleague. Change nothing.

    It has logs, inputs, plan, rendered files, outputs, versions, a capture of each BMC, console and journals of the
    bootstrap VM (by ssh, as user core). Its index.md says what is there, and why the rest is not.
    """
    read_options(stack_file(options.stack))
    now = datetime.now(UTC)
    out: Path = options.out or Path(f"gather-{options.stack}-{now:%Y-%m-%dT%H%M%SZ}.tar.gz")
    if out.exists():
        raise ConfigError(Fault(str(out), "exists already", "name another --out"))
    with Bundle(f"Stack {options.stack}, gathered {now:%Y-%m-%d %H:%M:%S} UTC") as bundle:
        parts = Parts(options.stack)
        for part in (
            *(
                parts.secrets,
                parts.encrypted,
                parts.logs,
                parts.inputs,
                parts.plan,
                parts.files,
                parts.outputs,
                parts.versions,
            ),
            *(parts.bmcs, parts.console, parts.journals),
        ):
            bundle.collect(part.__name__, part)
        count = bundle.pack(out)
    print(f"{out}: {count} files. Read them before you send it.")
    return EXIT_OK


@dataclass(frozen=True)
class Parts:
    """What is gathered of one stack. Each part returns what is there."""

    stack: str

    def secrets(self, bundle: Bundle) -> str:
        """Learn the values that no file of the archive may have. This comes first."""
        auth = payload_folder(self.stack) / "auth"
        password = auth / "kubeadmin-password"
        files = (install_config(self.stack), stack_file(self.stack), auth / "kubeconfig", password)
        texts = {path: read_file(path).decode(errors="replace") for path in files if path.exists()}
        bundle.secrets.learn(*texts.pop(password, "").split())
        for text in texts.values():
            # A file that is refused may be why a report is written.
            try:
                bundle.secrets.learn_document(parse_yaml(text))
            except ConfigError:
                bundle.secrets.learn_text(text)
        return "passwords, pull secret and keys are masked in all files"

    def encrypted(self, bundle: Bundle) -> str:
        """Learn the values of the encrypted options, which only Pulumi can read."""
        known = stack_options(self.stack)
        bundle.secrets.learn(*_decrypted(read_options(stack_file(self.stack)), known))
        return "encrypted options are masked in all files"

    def logs(self, bundle: Bundle) -> str:
        """Add the logs of the stack's runs."""
        runs = runs_of(self.stack)
        for path in runs:
            bundle.add(str(path), path.read_text(encoding="utf-8", errors="replace"))
        return f"{FOLDER / self.stack}: {len(runs)} runs; okd-baremetal log prints one" if runs else "no run left one"

    def inputs(self, bundle: Bundle) -> str:
        """Add install-config and options."""
        for path in (install_config(self.stack), stack_file(self.stack)):
            bundle.add(str(path), yaml_of(mask_document(read_yaml(path))))
        return "install-config.yaml and the stack's options, secrets masked, without comments"

    def plan(self, bundle: Bundle) -> str:
        """Add the plan."""
        planned = load_intent(install_config(self.stack), read_stack_file(stack_file(self.stack)))
        bundle.add("plan.json", json.dumps(plan_json(planned), indent=2) + "\n")
        return "plan.json, as `okd-baremetal plan` prints it"

    def files(self, bundle: Bundle) -> str:
        """Add the files that the machines read, without their Ignition configs."""
        intent = complete_intent(install_config(self.stack), read_stack_file(stack_file(self.stack)))
        folders, secret = render(intent).folders, 0
        for folder, files in folders.items():
            for file in files:
                shown = replace(file, text=f"{MASK}\n") if file.secret else file
                bundle.add(f"files/{folder}/{shown.path.lstrip('/')}", shown.text)
                secret += file.secret
        count = sum(map(len, folders.values()))
        return f"files/: {count} files as `okd-baremetal render` writes them; masked, as they hold a secret: {secret}"

    def outputs(self, bundle: Bundle) -> str:
        """Add the outputs of the state, secret ones masked by Pulumi."""
        bundle.add("outputs.json", pulumi(self.stack, "stack", "output", "--json"))
        return "outputs.json, as `pulumi stack output --json` prints it"

    def versions(self, bundle: Bundle) -> str:
        """Add the versions of this machine's programs."""
        lines = [f"okd-baremetal: {version()}", f"python: {sys.version}", f"system: {platform.platform()}"]
        lines += [f"library {name}: {version_of(name)}" for name in LIBRARIES]
        lines += [f"{name}: {_said(name, *words)}" for name, words in TOOLS.items()]
        bundle.add("versions.txt", "\n".join(lines) + "\n")
        return "versions.txt"

    def bmcs(self, bundle: Bundle) -> str:
        """Add a capture of each BMC that answers."""
        plan = load_bmcs(install_config(self.stack), stack_options(self.stack))

        def captured(host: PlannedHost) -> str:
            try:
                tree = tree_of(plan, host, lambda _: None)
            except OkdBaremetalError as error:
                return str(error)
            bundle.add(f"bmc/{host.name}.json", json.dumps(tree, indent=2, ensure_ascii=False) + "\n")
            return ""

        with threads(min(WORKERS, len(plan.hosts))) as pool:
            failed = {host.name: why for host, why in zip(plan.hosts, pool.map(captured, plan.hosts), strict=True)}
        for name, why in failed.items():
            if why:
                bundle.note(f"bmc of {name}", f"not there: {why}")
        return f"bmc/: captures of {list(failed.values()).count('')} of {len(failed)} hosts"

    def console(self, bundle: Bundle) -> str:
        """Add the console log of the bootstrap VM."""
        vm = load_intent(install_config(self.stack), read_stack_file(stack_file(self.stack))).bootstrap.name
        bundle.add("bootstrap/console.log", console_of(vm))
        return "bootstrap/console.log, of libvirt on this machine"

    def journals(self, bundle: Bundle) -> str:
        """Add the journals of the bootstrap VM."""
        intent = load_intent(install_config(self.stack), read_stack_file(stack_file(self.stack)))
        names = []
        for name, text in journals_of(tuple(map(str, intent.bootstrap.addresses))):
            bundle.add(f"bootstrap/{name}.log", text)
            names.append(name)
        return f"bootstrap/: {', '.join(names)}"


def _decrypted(raw: Any, known: Any) -> list[str]:
    """Return the texts of `known`, the decrypted form of `raw`, that are encrypted there."""
    if is_encrypted(raw):
        return [*texts_in(known)]
    pairs = list[tuple[Any, Any]]()
    if isinstance(raw, Mapping) and isinstance(known, Mapping):
        pairs = [(member, known.get(key)) for key, member in raw.items()]
    elif isinstance(raw, list) and isinstance(known, list):
        pairs = [*zip(raw, known, strict=False)]
    return [text for pair in pairs for text in _decrypted(*pair)]


def _said(*command: str) -> str:
    """Return the first line that a tool prints."""
    try:
        done = subprocess.run(  # noqa: S603
            command, env=environment(), capture_output=True, text=True, timeout=TOOL_S, check=False
        )
    except OSError as error:
        return f"cannot be run ({error.strerror})"
    except subprocess.TimeoutExpired:
        return f"no answer in {TOOL_S} s"
    return next(iter(without_login(done.stdout or done.stderr).splitlines()), "prints nothing")


COMMAND = Command(gather, _add_arguments)
