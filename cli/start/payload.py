"""`payload`: have openshift-install generate the payload of a stack, and pin it."""

import argparse
import sys
from collections.abc import Iterable
from hashlib import sha256
from pathlib import Path

from base.errors import ConfigError, Fault, word
from base.files import PRIVATE, PRIVATE_FOLDER, write_private
from base.masking import Secrets
from base.yaml_text import parse_yaml
from cli.shared.command import Command, add_stack
from cli.shared.command_line import EXIT_OK, install_config, stack_file
from cli.shared.stack_options import check_settable, set_stack_option
from cli.start.generation import Generation, manifests_in
from cli.start.openshift_install import NAME, OVERRIDE, Version, openshift_install, version
from cli.start.payload_config import PayloadConfig, config_of_payload
from cli.start.payload_folders import put_in_place, working_folder
from cluster.install_config import InstallConfig
from cluster.stack_file import read_options, read_stack_file
from cluster.values.platform import ClusterPlatform
from cluster.values.role import payload_files
from payload.kubeconfig import kubeconfig_path
from payload.of_servers import MANIFESTS
from payload.reading import payload_folder

BY_HAND = """\
umask 077 && mkdir {folder} &&
okd-baremetal payload-config {config} --stack {stack} >{folder}/install-config.yaml &&
{without_owners}openshift-install create ignition-configs --dir {folder} &&
for f in {files}; do
  pulumi config set --stack {stack} --path payload.$f "$(sha256sum <{folder}/$f.ign | cut -c 1-64)"
done"""
OF_OWNERS = " \\\n  ".join(MANIFESTS)
WITHOUT_OWNERS = """\
openshift-install create manifests --dir {folder} &&
(cd {folder}/openshift && rm -f \\
  {manifests}) &&
"""
"""On platform baremetal: remove the manifests by which the cluster would own servers."""
COMPLETION = {
    ClusterPlatform.NONE: "openshift-install wait-for bootstrap-complete --dir {folder}",
    # openshift-install would wait for BareMetalHosts that are provisioned (cmd/openshift-install/create.go).
    ClusterPlatform.BAREMETAL: "`pulumi up` in phase production waits for the bootstrap's end",
}


def _add_arguments(parser: argparse.ArgumentParser) -> None:
    add_stack(parser)
    what = "add its *.yaml, *.yml and *.json to the manifests"
    parser.add_argument("--manifests", type=Path, metavar="DIR", help=what)


def payload(options: argparse.Namespace) -> int:
    """Have openshift-install generate the payload of a stack, and pin it in stacks/Pulumi.STACK.yaml.

    The payload is written into stacks/STACK/payload, which stays openshift-install's own directory. Nothing is
    generated for a stack that pins a payload, or before it is known that Pulumi can pin one. A folder that no stack
    pins is moved aside, to a name with its time.
    """
    stack, folder = options.stack, payload_folder(options.stack)
    _refuse_pinned(stack)
    manifests = manifests_in(options.manifests) if options.manifests else []
    config = config_of_payload(install_config(stack), stack)
    files = payload_files(has_arbiter=config.config.arbiter is not None)
    if (tool := openshift_install()) is None:
        _print_by_hand(stack, files, config.platform)
        raise ConfigError(Fault(NAME, "not on PATH", "put it there, or run the lines above where it is"))
    known = version(tool)
    _refuse_another_architecture(config.config, known, install_config(stack))
    _refuse_another_release(stack, known)
    check_settable(stack)
    try:
        with working_folder(folder) as (work, lock):
            write_private(work / "install-config.yaml", config.text)
            Generation(tool, work, lock, _secrets_of(config), install_config(stack)).run(manifests, config.platform)
            digests = _finished(work, files)
            if aside := put_in_place(work, folder):
                print(f"{folder} was there, and pinned by no stack: it is {aside} now")
            _pin(stack, folder, digests)
    except OSError as error:
        fault = Fault(str(error.filename or folder), str(error.strerror), "correct that, and repeat the command")
        raise ConfigError(fault) from None
    print(f"{folder}: {', '.join(f'{name}.ign' for name in files)}, pinned in {stack_file(stack)}")
    print(f"{kubeconfig_path(stack)}: the cluster's administrator")
    print(f"complete the installation within 24 hours: {COMPLETION[config.platform].format(folder=word(folder))}")
    return EXIT_OK


def _print_by_hand(stack: str, files: Iterable[str], platform: ClusterPlatform) -> None:
    """Print the commands for a machine that has openshift-install."""
    folder, config, words = payload_folder(stack), install_config(stack), " ".join(map(word, files))
    removed = WITHOUT_OWNERS.format(folder=word(folder), manifests=OF_OWNERS)
    between = removed if platform is ClusterPlatform.BAREMETAL else ""
    print(
        BY_HAND.format(
            folder=word(folder), config=word(config), stack=word(stack), files=words, without_owners=between
        )
    )


def _refuse_pinned(stack: str) -> None:
    """Raise a `ConfigError` if the stack pins a payload, whether it is here or on another machine."""
    if not read_options(stack_file(stack)).get("payload"):
        return
    folder = payload_folder(stack)
    here = "" if folder.exists() else f" and {folder} is not here"
    what = f"pins a payload{here}; a second one has other certificates, with which no machine of the first works"
    fix = (
        f"keep {folder}, or put it there from where it was generated; if no machine runs with it, "
        f"`pulumi config rm payload --stack {word(stack)}`, and repeat: it is moved aside"
    )
    raise ConfigError(Fault(str(stack_file(stack)), what, fix))


def _refuse_another_architecture(config: InstallConfig, known: Version, file: Path) -> None:
    """Raise a `ConfigError` if a release of one architecture cannot be installed on all servers."""
    fix = f"put the {NAME} of a release for several architectures on PATH: `{NAME} version` prints multi"
    only = f"but the release of the {NAME} on PATH is for {known.architecture} only"
    if faults := [
        Fault(f"{file}: {name}.architecture", f"{pool.architecture}, {only}", fix)
        for name, pool in config.pools.items()
        if pool.replicas and not known.runs_on(pool.architecture)
    ]:
        raise ConfigError(*faults)


def _refuse_another_release(stack: str, known: Version) -> None:
    """Raise a `ConfigError` if the stack's services are of another release than its payload would be."""
    images = read_stack_file(stack_file(stack)).get("images") or {}
    named = images.get("release", "") if isinstance(images, dict) else ""
    if named and known.image and str(named).rpartition("@")[2] != known.image.rpartition("@")[2]:
        what = f"{named}, but the payload would be of {known.image}"
        unset = f"unset {OVERRIDE}" if known.is_overridden else f"put the {NAME} of that release on PATH"
        fix = f"`pulumi config set --stack {word(stack)} --path images.release {word(known.image)}`, or {unset}"
        raise ConfigError(Fault(f"{stack_file(stack)}: images.release", what, fix))


def _finished(work: Path, files: Iterable[str]) -> dict[str, str]:
    """Make openshift-install's directory private, and return the digests of the payload."""
    if absent := [name for name in files if not (work / f"{name}.ign").is_file()]:
        raise ConfigError(Fault(NAME, f"wrote no {absent[0]}.ign", "use one of 4.16 or newer"))
    for path in work.rglob("*"):
        path.chmod(PRIVATE_FOLDER if path.is_dir() else PRIVATE)
    return {name: sha256((work / f"{name}.ign").read_bytes()).hexdigest() for name in files}


def _pin(stack: str, folder: Path, digests: dict[str, str]) -> None:
    """Pin the payload; if that fails, say so: it is complete, and in its place."""
    try:
        set_stack_option(stack, "payload", digests)
    except BaseException:
        print(f"{folder}: generated, but not pinned; a repeated call moves it aside", file=sys.stderr)
        raise


def _secrets_of(config: PayloadConfig) -> Secrets:
    """Return the secrets of an install-config, which openshift-install may print."""
    secrets = Secrets()
    secrets.learn_document(parse_yaml(config.text))
    return secrets


COMMAND = Command(payload, _add_arguments)
