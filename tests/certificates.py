"""The CAs of the tests: those of the lab, each made once in a run."""

from functools import cache

from lab.certificates import Authority


@cache
def authority(name: str) -> Authority:
    """The same CA for each test of a run."""
    return Authority.create(name)
