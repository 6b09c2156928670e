"""docs/reference/addresses.md has the table and the matrix of the code."""

from string import ascii_uppercase

from cluster.plan.address_table.uses import ADDRESSES, IN_ONE_CLUSTER, IN_TWO_CLUSTERS, Use
from testing.documents import DOCS
from tests.unit.cluster.plan.address_table.complete import patterns

DOCUMENT = DOCS / "reference/addresses.md"
CELLS = {(True, True): "yes", (True, False): "one", (False, True): "two", (False, False): "-"}
"""By whether two uses may coincide in one cluster, and in two."""


def cell(one: Use, other: Use) -> str:
    pair = frozenset({one, other})
    return CELLS[pair in IN_ONE_CLUSTER, pair in IN_TWO_CLUSTERS]


def matrix() -> list[list[str]]:
    """Return a row for all uses that may coincide with the same others."""
    groups: dict[tuple[str, ...], list[Use]] = {}
    for use in Use:
        if use in ADDRESSES:
            groups.setdefault(tuple(cell(use, other) for other in Use if other in ADDRESSES), []).append(use)
    firsts = [uses[0] for uses in groups.values()]
    names = ascii_uppercase[: len(firsts)]
    rows = [
        [f"{name}: {', '.join(uses)}", *(cell(uses[0], other) for other in firsts)]
        for name, uses in zip(names, groups.values(), strict=True)
    ]
    return [["use", *names], ["---"] * (len(firsts) + 1), *rows]


def fields() -> list[list[str]]:
    """Return a row for each field that has an address, MAC or network."""
    rows = [
        [
            f"`{path.removeprefix('config:')}`",
            " or ".join(sorted(uses)) + (", of the options" * path.startswith("config:")),
        ]
        for path, uses in patterns().items()
    ]
    return [["field", "use"], ["---", "---"], *rows]


def markdown(rows: list[list[str]]) -> str:
    return "".join(f"| {' | '.join(row)} |\n".replace("| --- ", "|---").replace("|--- |", "|---|") for row in rows)


def test_the_document_has_the_matrix_of_the_code() -> None:
    assert markdown(matrix()) in DOCUMENT.read_text()


def test_the_document_has_each_field_of_the_table() -> None:
    assert markdown(fields()) in DOCUMENT.read_text()
