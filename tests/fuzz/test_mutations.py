"""The mutators: a case depends on its seed alone."""

from copy import deepcopy
from random import Random

from base.files import MOST_BYTES
from testing.fuzz.mutations import VALUES, mutated_bytes, mutated_document


def test_a_mutated_document_leaves_the_values_of_others_as_they_are() -> None:
    before, random = deepcopy(VALUES), Random("mutations")  # noqa: S311  (no secret comes of it)
    for _ in range(300):
        mutated_document(random, {"a": [1, {"b": 2}], "c": {"d": []}})
        assert before == VALUES


def test_a_mutated_text_is_no_longer_than_a_reader_gets() -> None:
    longest = max(len(mutated_bytes(Random(seed), b"a: 1")) for seed in range(1500))  # noqa: S311  (a seeded test)
    assert longest < MOST_BYTES
