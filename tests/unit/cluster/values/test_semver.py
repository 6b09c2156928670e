"""Versions of releases: what is one, and which is newer."""

from itertools import pairwise

import pytest

from cluster.values.semver import Version

IN_ORDER = (
    "4.9.12",
    "4.21.0-ec.1",
    "4.21.0-okd-scos.2",
    "4.21.0-okd-scos.10",
    "4.21.0-okd-scos.10.1",
    "4.21.0-rc.0",
    "4.21.0",
    "4.21.3",
    "4.22.0-okd-scos.0",
    "5.0.0",
)


def test_versions_have_the_order_of_semver() -> None:
    for earlier, later in pairwise(map(Version.of, IN_ORDER)):
        assert earlier is not None
        assert later is not None
        assert earlier < later


@pytest.mark.parametrize("text", ["", "4.21", "v4.21.3", "4.21.03", "4.21.3+build", "latest", "4.21.3\n"])
def test_other_texts_are_no_versions(text: str) -> None:
    assert Version.of(text) is None
