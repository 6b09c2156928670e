"""A reporter for tests: the lines that an operator would read."""

from base.progress import Report


def into(lines: list[str]) -> Report:
    """Return a reporter that appends each line to `lines`."""
    return lambda progress: lines.append(str(progress))
