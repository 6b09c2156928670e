"""What the check of a provider refuses, in parts."""

import re

from pulumi.dynamic import CheckResult

PLACE = re.compile(r"(\w+)(?:\.|: )?(.*)", re.DOTALL)


def refusals(answer: CheckResult) -> list[tuple[str, str]]:
    """Return the input that each refusal begins with, and the rest of its text.

    The refusal names no property: Pulumi would print the property's value, all hosts with their BMCs, before it.
    """
    assert not any(failure.property for failure in answer.failures or [])
    matches = (PLACE.fullmatch(failure.reason) for failure in answer.failures or [])
    return [(match[1], match[2]) for match in matches if match]
