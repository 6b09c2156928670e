"""Base images: the options that name them, and their path in the cache."""

from pathlib import Path

from boot_media.tools import cache_dir
from cluster.values.architecture import Architecture

ISO_URLS = {architecture: f"{architecture.option}.url" for architecture in Architecture}
"""The option that names the source of the base ISO of each architecture."""
DISK_SOURCE = "provisioner.base_image.source"
"""The option that names the source of the bootstrap VM's base image."""
NAMES = {
    ISO_URLS[Architecture.AMD64]: "base ISO",
    ISO_URLS[Architecture.ARM64]: "base ISO of arm64",
    DISK_SOURCE: "base image",
}
"""What an operator calls the image of that option."""


def base_path(sha256: str) -> Path:
    """Return the path in the cache of the image with that digest, whether it exists or not."""
    return cache_dir() / "images" / sha256
