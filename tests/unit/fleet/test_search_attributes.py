"""The search attributes of the workflows, and the commands by which an operator makes them."""

from fleet.workflows import CLUSTER, SINCE, SITE, STEP
from testing.checkout import ROOT

ATTRIBUTES = {key.name: key.indexed_value_type.name.capitalize() for key in (SITE, CLUSTER, STEP, SINCE)}
DOCUMENT = (ROOT / "docs" / "how-to" / "many-sites.md").read_text()


def test_the_try_out_makes_each_attribute() -> None:
    for name, kind in ATTRIBUTES.items():
        assert f"--search-attribute {name}={kind}" in DOCUMENT


def test_production_makes_each_attribute() -> None:
    keywords = " ".join(name for name, kind in ATTRIBUTES.items() if kind == "Keyword")
    assert f"for name in {keywords}; do" in DOCUMENT
    assert "--name $name --type Keyword" in DOCUMENT
    assert f"--name Since --type {ATTRIBUTES['Since']}" in DOCUMENT
