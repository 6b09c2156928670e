"""What the machines will read as folders to look at: one per role, and one per host for what is its alone."""

import shutil
import tempfile
from collections.abc import Iterable, Mapping
from pathlib import Path

from assets.ignition import compose, own_config
from assets.render import RenderedFile, render_bootstrap, render_role, render_server
from cluster.plan import Intent, Role
from providers.base.errors import AssetError

BOOTSTRAP = "bootstrap"
SECRET = 0o600

Folders = Mapping[str, tuple[RenderedFile, ...]]
"""Files by folder: `bootstrap`, `control-plane`, `compute`, `hosts/<name>`."""


def folders_of(intent: Intent) -> Folders:
    """Every file of every machine; each one has an address."""
    roles = {role.value: render_role(intent, role) for role in Role if intent.of(role)}
    hosts = {f"hosts/{server.name}": render_server(intent, server) for server in intent.servers}
    return {BOOTSTRAP: render_bootstrap(intent), **roles, **hosts}


def own_configs(intent: Intent, folders: Folders) -> dict[str, str]:
    """Our Ignition of each machine: `bootstrap.ign`, `hosts/<name>/master.ign` or `worker.ign`."""
    configs = {f"{BOOTSTRAP}.ign": own_config(folders[BOOTSTRAP])}
    for server in intent.servers:
        own = f"hosts/{server.name}"
        configs[f"{own}/{server.role.pool}.ign"] = own_config([*folders[server.role.value], *folders[own]])
    return configs


def compose_all(payload: Mapping[str, bytes], ours: Mapping[str, str]) -> dict[str, bytes]:
    """What each machine gets, by the paths of `own_configs`: its config of the payload, then ours. Secret."""
    return {path: compose(payload[Path(path).stem], config) for path, config in ours.items()}


def write_tree(out: Path, folders: Folders, composed: Mapping[str, bytes]) -> None:
    """Write all of it, or nothing. `out` is for its owner alone.

    Args:
        out: A directory that is not there yet, or empty.
        folders: As `folders_of` gives them.
        composed: As `compose_all` gives them.

    Raises:
        AssetError: `out` has content, or cannot be written.
    """
    target = out.resolve()  # a link, or `.`, is not to be replaced itself
    try:
        if target.exists() and (not target.is_dir() or any(target.iterdir())):
            raise AssetError(f"{out}: is there already; remove it, or name another directory")
        # Beside it, so that the move is one within a file system.
        work = Path(tempfile.mkdtemp(prefix=f".{target.name}-", dir=target.parent))
        try:
            for folder, files in folders.items():
                lay_out(work / folder, files)
            for path, config in composed.items():
                _write(work / path, SECRET, config)
            work.rename(target)
        finally:
            shutil.rmtree(work, ignore_errors=True)
    except OSError as error:
        raise AssetError(f"{out}: cannot be written ({error.strerror})") from None


def lay_out(root: Path, files: Iterable[RenderedFile]) -> None:
    """Write files below `root` as a machine has them below `/`."""
    for file in files:
        _write(root / file.path.removeprefix("/"), file.mode, file.text.encode())


def _write(path: Path, mode: int, content: bytes) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.touch(SECRET)
    path.write_bytes(content)
    path.chmod(mode)
