"""Root device hints without a value. The installer takes them for no hints, and another disk may be wiped."""

from collections.abc import Iterator
from typing import Any

from base.errors import Fault, Stricter

HOSTS = "platform.baremetal.hosts"


def empty_hints(content: dict[str, Any]) -> Iterator[Fault]:
    """Yield each hint, and each section of hints, without a value.

    Args:
        content: The content of a file with its nulls, of which not every value need be valid.
    """
    for index, host in enumerate(_hosts(content)):
        hints = host.get("rootDeviceHints", ...) if isinstance(host, dict) else ...
        at = f"{HOSTS}[{index}].rootDeviceHints"
        if hints in (None, {}):
            yield Stricter(at, "empty, and so no hint for the installer", "name the disk, or remove rootDeviceHints")
        for name, value in hints.items() if isinstance(hints, dict) else ():
            if value is None or not str(value).strip():
                yield Stricter(
                    f"{at}.{name}", "empty, and so no hint for the installer", f"write it, or remove {name}"
                )


def _hosts(content: Any) -> list[Any]:
    for key in HOSTS.split("."):
        content = content.get(key) if isinstance(content, dict) else None
    return content if isinstance(content, list) else []
