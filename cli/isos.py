"""`isos`: the boot ISOs of a stack's servers as files, for a web server that the BMCs reach instead of us."""

import argparse
import sys
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ConfigDict, ValidationError

from assets.ignition import compose
from assets.render import RenderedFile
from assets.tree import folders_of, own_configs
from boot_media.iso import IsoMaker, ensure_base, find_installer
from boot_media.keyfiles import CONNECTIONS
from cli.command_line import GOOD, install_config, stack_file
from cli.render import intent_of
from cluster.faults import shape_faults
from cluster.options import Media, Options, PayloadDigests, read_stack_file
from cluster.plan import Intent
from payload.reading import read_payload
from providers.base.errors import AssetError, ConfigError


def isos(options: argparse.Namespace) -> int:
    """Write the boot ISOs of a stack's servers."""
    file = stack_file(options.stack)
    stack = read_stack_file(file)
    sources, intent = sources_of(file, stack), intent_of(install_config(options.stack), stack)
    for path in write_isos(options.out, options.stack, sources, intent):
        print(path)
    return GOOD


class Sources(BaseModel):
    """Those of a stack's options that ISOs are made from, beside what is rendered."""

    model_config = ConfigDict(frozen=True)

    payload: PayloadDigests
    media: Media


def sources_of(file: Path, options: Mapping[str, Any]) -> Sources:
    """What a stack's options say.

    Args:
        file: Where they were read.
        options: By name, without the encrypted ones.

    Raises:
        ConfigError: Each option that is wrong, missing or encrypted.
    """
    try:
        return Sources.model_validate(options)
    except ValidationError as error:
        raise ConfigError(fault.within(str(file)) for fault in shape_faults(error, Options)) from None


def keyfiles_in(files: Iterable[RenderedFile]) -> dict[str, str]:
    """NetworkManager's among the files of one host, text by file name: its ISO has them as well."""
    return {file.name: file.text for file in files if file.path.startswith(f"{CONNECTIONS}/")}


def write_isos(out: Path, stack: str, sources: Sources, intent: Intent) -> Iterator[Path]:
    """Write `<digest>/<host>.iso` of every server into `out`, for its owner alone, but for those that are there.

    Yields:
        The path of each.

    Raises:
        AssetError: No base ISO, no tool, no payload, one of them refused, or `out` cannot be written.
    """
    folders, base = folders_of(intent), sources.media.base_iso
    ours = own_configs(intent, folders)
    pools = {server.role.pool for server in intent.servers}
    payload = {pool: read_payload(stack, pool, getattr(sources.payload, pool)) for pool in sorted(pools)}
    tool = find_installer()
    path = ensure_base(base.sha256, base.url, lambda line: print(line, file=sys.stderr))
    with IsoMaker(path, base.sha256, tool) as maker:
        for server in intent.servers:
            own, pool = f"hosts/{server.name}", server.role.pool
            iso = maker.make(
                ignition=compose(payload[pool], ours[f"{own}/{pool}.ign"]),
                keyfiles=keyfiles_in(folders[own]),
                root_device=server.root_device_hints.device_name,
            )
            target = out / iso.place(server.name)
            try:
                out.mkdir(mode=0o700, parents=True, exist_ok=True)
                target.parent.mkdir(mode=0o700, exist_ok=True)
                if not target.exists():
                    iso.write(target)
            except OSError as error:
                raise AssetError(f"cannot be written ({error.strerror})", where=str(target)) from None
            yield target
