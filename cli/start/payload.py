"""`payload`: have openshift-install generate the payload of a stack, and pin it."""

import argparse
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from hashlib import sha256
from pathlib import Path

from base.errors import ConfigError, Fault, one_line
from base.files import PRIVATE, PRIVATE_FOLDER, write_private
from base.masking import Secrets
from base.yaml_text import parse_yaml
from cli.shared.command import Command, add_stack
from cli.shared.command_line import EXIT_OK, install_config, stack_file
from cli.shared.stack_options import set_stack_option
from cli.start.openshift_install import NAME, openshift_install
from cli.start.payload_config import config_of_payload
from cluster.options import PayloadDigests, read_stack_file
from payload.kubeconfig import kubeconfig_path
from payload.reading import payload_folder

FILES = tuple(PayloadDigests.model_fields)
UMASK = 0o077
"""The umask of openshift-install, which writes keys and the pull secret."""
BY_HAND = """\
umask 077 && mkdir -p {folder}
okd-baremetal payload-config {config} --stack {stack} >{folder}/install-config.yaml
openshift-install create ignition-configs --dir {folder}
for f in bootstrap master worker; do
  pulumi config set --stack {stack} --path payload.$f "$(sha256sum <{folder}/$f.ign | cut -c 1-64)"
done"""


def _add_arguments(parser: argparse.ArgumentParser) -> None:
    add_stack(parser)
    parser.add_argument("--manifests", type=Path, metavar="DIR", help="add its *.yaml to the manifests")


def payload(options: argparse.Namespace) -> int:
    """Have openshift-install generate the payload of a stack, and pin it in stacks/Pulumi.STACK.yaml.

    The payload is written into stacks/STACK/payload, which stays openshift-install's own directory. A payload that
    the stack has pinned is never replaced.
    """
    stack, folder = options.stack, payload_folder(options.stack)
    _refuse_to_replace(folder, read_stack_file(stack_file(stack)).get("payload"), stack_file(stack))
    text = config_of_payload(install_config(stack), stack)
    if (tool := openshift_install()) is None:
        print(BY_HAND.format(folder=folder, config=install_config(stack), stack=stack))
        fix = "put it there, or run the lines above where it is"
        raise ConfigError(Fault(NAME, "not on PATH", fix))
    try:
        work = Path(tempfile.mkdtemp(prefix=".payload-", dir=folder.parent))  # mode 0700
        try:
            write_private(work / "install-config.yaml", text)
            _generate(tool, work, options.manifests, _secrets_of(text))
            digests = _move(work, folder)
        finally:
            shutil.rmtree(work, ignore_errors=True)
    except OSError as error:
        fault = Fault(str(error.filename or folder), str(error.strerror), "correct that, and repeat the command")
        raise ConfigError(fault) from None
    set_stack_option(stack, "payload", digests)
    print(f"{folder}: {', '.join(f'{name}.ign' for name in FILES)}, pinned in {stack_file(stack)}")
    print(f"{kubeconfig_path(stack)}: the cluster's administrator")
    print(f"complete the installation within 24 hours: openshift-install wait-for bootstrap-complete --dir {folder}")
    return EXIT_OK


def _refuse_to_replace(folder: Path, pinned: object, file: Path) -> None:
    """Raise a `ConfigError` if the stack's digests name a file that is there."""
    digests = pinned if isinstance(pinned, Mapping) else {}
    for name in FILES:
        path = folder / f"{name}.ign"
        if path.is_file() and sha256(path.read_bytes()).hexdigest() == digests.get(name):
            what = f"there already, and pinned in {file}; a second payload has other certificates"
            fix = f"if no machine runs with it, remove it first: rm -r {folder}"
            raise ConfigError(Fault(str(path), what, fix))


def _generate(tool: Path, work: Path, manifests: Path | None, secrets: Secrets) -> None:
    """Run openshift-install in `work`, with manifests of the site's own between its two steps."""
    if manifests is not None:
        files = sorted(manifests.glob("*.yaml"))
        if not files:
            raise ConfigError(Fault("--manifests", f"no *.yaml in {manifests}", "name the folder that has them"))
        _run(tool, "manifests", work, secrets)
        # openshift-install takes a folder openshift/ that it finds for the whole one, so not before.
        for file in files:
            shutil.copy(file, work / "openshift")
    _run(tool, "ignition-configs", work, secrets)


def _run(tool: Path, what: str, work: Path, secrets: Secrets) -> None:
    """Run `openshift-install create`, and show what it prints, without the secrets of the install-config.

    Raises:
        ConfigError: It fails; with its last line.
    """
    command = [str(tool), "create", what, "--dir", str(work)]
    last = ""
    with subprocess.Popen(  # noqa: S603
        command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, umask=UMASK
    ) as started:
        for line in started.stdout or ():
            last = one_line(secrets.mask(line.rstrip("\n")))
            print(last, file=sys.stderr)
    if started.returncode:
        fix = "correct what it names in the install-config, and repeat"
        raise ConfigError(Fault(f"{NAME} create {what}", f"exit code {started.returncode}: {last}", fix))


def _move(work: Path, folder: Path) -> dict[str, str]:
    """Make openshift-install's directory the payload's folder, private, and return the digests of the payload."""
    if absent := [name for name in FILES if not (work / f"{name}.ign").is_file()]:
        raise ConfigError(Fault(NAME, f"wrote no {absent[0]}.ign", "use one of 4.16 or newer"))
    for path in work.rglob("*"):
        path.chmod(PRIVATE_FOLDER if path.is_dir() else PRIVATE)
    if folder.exists():
        shutil.rmtree(folder)
    work.rename(folder)
    return {name: sha256((folder / f"{name}.ign").read_bytes()).hexdigest() for name in FILES}


def _secrets_of(config: str) -> Secrets:
    """Return the secrets of an install-config, which openshift-install may print."""
    secrets = Secrets()
    secrets.learn_document(parse_yaml(config))
    return secrets


COMMAND = Command(payload, _add_arguments)
