"""docs/reference/releases.md has what `releases` has as data."""

from cluster.install_config.releases import ENABLED_IN, SINCE
from testing.documents import table

DOCUMENT = "reference/releases.md"


def test_the_document_has_each_key_and_value_with_its_release_and_source() -> None:
    rows = [tuple(row.values()) for row in table(DOCUMENT, "key, or key and value")]
    assert rows == [(f"`{since.what}`", str(since.release), since.source) for since in SINCE]


def test_the_document_has_each_feature_gate() -> None:
    rows = {row["feature gate"].strip("`"): row["enabled in"] for row in table(DOCUMENT, "feature gate")}
    assert rows == {
        gate: "; ".join(
            f"{release}: {', '.join(f'`{name}`' if name else 'the default' for name in sets)}"
            for release, sets in reversed(steps)
        )
        for gate, steps in ENABLED_IN.items()
    }


def test_the_newest_step_of_a_gate_comes_first() -> None:
    for steps in ENABLED_IN.values():
        assert [release for release, _ in steps] == sorted((release for release, _ in steps), reverse=True)
