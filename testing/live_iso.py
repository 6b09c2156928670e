"""coreos-installer and a live ISO for it; tests are skipped if they are missing."""

import lzma
import os
from pathlib import Path

import pytest

from boot_media.tools import find_coreos_installer
from providers.base.errors import BootMediaError

FIXTURE = "registry/src/*/coreos-installer-0.27.0/fixtures/iso/embed-areas-2023-07.x86_64.iso.xz"


def installer() -> Path:
    try:
        return find_coreos_installer()
    except BootMediaError as error:
        pytest.skip(str(error))


def live_iso() -> bytes:
    """Return the smallest ISO with the layout of a CoreOS live ISO: a fixture of coreos-installer's crate."""
    cargo = Path(os.environ.get("CARGO_HOME", Path.home() / ".cargo"))
    packed = next(cargo.glob(FIXTURE), None)
    if packed is None:
        pytest.skip(
            "the sources of coreos-installer are not in the cargo registry (tools/coreos-installer fetches them)"
        )
    return lzma.decompress(packed.read_bytes())
