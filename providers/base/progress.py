"""Progress of a resource while a provider works on it."""

from collections.abc import Callable

Report = Callable[[str], None]
"""Takes one line: the current step, with the time spent and the time left."""
