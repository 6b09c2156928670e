"""`isos`: write the boot ISOs of a stack's servers, for a web server if BMCs cannot reach the provisioner."""

import argparse
import sys
from collections.abc import Iterator, Mapping
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from assets.ignition import compose, keyfiles_in, own_config
from assets.render import render
from base.errors import ConfigError
from base.shapes import shape_faults
from base.spec import Model
from boot_media.base_image import ISO_URLS
from boot_media.disk import disk_script
from boot_media.download import ensure_base
from boot_media.iso import Iso, IsoMaker
from boot_media.tools import find_coreos_installer
from cli.inspect.render import complete_intent
from cli.shared.command import Command, add_stack
from cli.shared.command_line import EXIT_OK, install_config, stack_file, writing
from cluster.option_types import DiskNames
from cluster.options import MediaOption, Options, PayloadDigests
from cluster.plan import Intent, Server
from cluster.plan.refusals.options import no_base_iso
from cluster.stack_file import read_stack_file
from cluster.values.architecture import Architecture
from payload.reading import read_payload


class Sources(Model):
    """The options of a stack that boot ISOs are made from, beside the rendered files."""

    payload: PayloadDigests
    media: MediaOption
    wipe_disks: dict[str, DiskNames] = {}


def _add_arguments(parser: argparse.ArgumentParser) -> None:
    add_stack(parser)
    what = "with room for one ISO per server"
    parser.add_argument("--out", type=Path, metavar="DIR", required=True, help=what)


def isos(options: argparse.Namespace) -> int:
    """Write DIGEST/HOST.iso for every server of a stack, to upload to the web server that media.url names.

    The ISOs are secret. An ISO that exists already is left unchanged.
    """
    file = stack_file(options.stack)
    stack = read_stack_file(file)
    sources, intent = sources_of(file, stack), complete_intent(install_config(options.stack), stack)
    if faults := [fault.within(str(file)) for fault in no_base_iso(intent, sources.media)]:
        raise ConfigError(*faults)
    for path in write_isos(options.out, options.stack, sources, intent):
        print(path)
    return EXIT_OK


def sources_of(file: Path, options: Mapping[str, Any]) -> Sources:
    """Validate the options of a stack that boot ISOs are made from.

    Args:
        file: The stack's file, which errors name.
        options: The options by name, without encrypted ones.

    Raises:
        ConfigError: An option is wrong, missing or encrypted; one fault each.
    """
    try:
        return Sources.model_validate(options)
    except ValidationError as error:
        raise ConfigError(*(fault.within(str(file)) for fault in shape_faults(error, Options))) from None


def write_isos(out: Path, stack: str, sources: Sources, intent: Intent) -> Iterator[Path]:
    """Write `<digest>/<host>.iso` of every server into `out`, readable by its owner only. Keep those that exist.

    Yields:
        The path of each ISO.

    Raises:
        OkdBaremetalError: Base ISO, tool or payload is missing or not valid, or `out` cannot be written.
    """
    rendered = render(intent)
    pools = {server.role.pool for server in intent.servers}
    payload = {pool: read_payload(stack, pool, getattr(sources.payload, pool)) for pool in sorted(pools)}
    with ExitStack() as makers:
        by_architecture = {
            architecture: makers.enter_context(_maker(architecture, sources.media))
            for architecture in sorted({*intent.architectures.values()})
        }
        for server in intent.servers:
            iso = by_architecture[intent.architectures[server.role]].make(
                ignition=compose(payload[server.role.pool], own_config(rendered.of(server))),
                keyfiles=keyfiles_in(rendered.servers[server.name]),
                choose_disk=disk_script(server.root_device_hints.given, "", sources.wipe_disks.get(server.name, ())),
            )
            yield _written(iso, out, server)


def _maker(architecture: Architecture, media: MediaOption) -> IsoMaker:
    tool, base = find_coreos_installer(), media.base_isos[architecture]
    option = ISO_URLS[architecture]
    path = ensure_base(option, base.sha256, base.url, lambda line: print(line, file=sys.stderr))
    return IsoMaker(path, base.sha256, tool, architecture)


def _written(iso: Iso, out: Path, server: Server) -> Path:
    target = out / iso.url_path(server.name)
    with writing(target, "name another --out"):
        out.mkdir(mode=0o700, parents=True, exist_ok=True)
        target.parent.mkdir(mode=0o700, exist_ok=True)
        if not target.exists():
            iso.write(target)
    return target


COMMAND = Command(isos, _add_arguments)
