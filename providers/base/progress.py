"""What is reported of a resource while it is worked on."""

from collections.abc import Callable

Report = Callable[[str], None]
"""Takes one line: what is done now, with time spent and left."""
