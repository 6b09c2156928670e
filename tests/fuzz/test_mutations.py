"""The mutators: a case depends on its seed alone."""

from copy import deepcopy
from random import Random

from testing.fuzz.mutations import VALUES, mutated_document


def test_a_mutated_document_leaves_the_values_of_others_as_they_are() -> None:
    before, random = deepcopy(VALUES), Random("mutations")  # noqa: S311  (no secret comes of it)
    for _ in range(300):
        mutated_document(random, {"a": [1, {"b": 2}], "c": {"d": []}})
        assert before == VALUES
