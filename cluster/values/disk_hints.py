"""The root device hints of a host, as text by their names in the install-config."""

from collections.abc import Mapping

Hints = Mapping[str, str]
NO_HINT = "no hint (/dev/sda, else the smallest disk of at least 4 GiB)"


def as_compared(hints: Hints) -> Hints:
    """Return the hints as a host compares them with its disks: without capitals and spaces around, but for a path."""
    return {name: value if name == "deviceName" else value.strip().lower() for name, value in hints.items()}


def in_words(hints: Hints) -> str:
    """Return the hints in one line, or what is done without any."""
    return ", ".join(f"{name}: {value}" for name, value in hints.items()) or NO_HINT
