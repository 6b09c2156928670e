"""YAML text: what the reader refuses, beside the cases of install-config, and what the writer keeps."""

import pytest

from base.errors import ConfigError
from base.yaml_text import line_of, parse_yaml, parse_yaml_documents, yaml_of

STACK = "config:\n  okd-baremetal:consent:\n    cp0: SERIAL\n"


@pytest.mark.parametrize("brackets", ["[]", "{}"], ids=["lists", "mappings"])
@pytest.mark.parametrize("levels", [101, 100_000], ids=["one-too-many", "enough-to-crash-the-parser"])
def test_deep_nesting_is_refused_before_it_is_parsed(brackets: str, levels: int) -> None:
    opened, closed = tuple(brackets)
    with pytest.raises(ConfigError) as caught:
        parse_yaml(opened * levels + closed * levels)
    assert caught.value.fault.what.endswith("column 101: nested deeper than 100 levels")


def test_a_hundred_levels_are_read() -> None:
    assert str(parse_yaml("[" * 100 + "]" * 100)) == "[" * 100 + "]" * 100


def test_an_alias_counts_as_its_content() -> None:
    text = f"hosts: &hosts [{', '.join(['a'] * 1000)}]\n"
    aliases = "".join(f"again{number}: *hosts\n" for number in range(201))
    assert len(parse_yaml(text + aliases[: len(aliases) // 2].rpartition("\n")[0])) > 90
    with pytest.raises(ConfigError) as caught:
        parse_yaml(text + aliases)
    assert caught.value.fault.what == "more than 200,000 keys and values"


def test_all_documents_of_a_text_are_read_strictly() -> None:
    assert parse_yaml_documents(b"a: 1\n---\nmac: 52:54:00:00:00:01\n") == [{"a": 1}, {"mac": "52:54:00:00:00:01"}]
    with pytest.raises(ConfigError, match="at line 4, column 1: a duplicate key"):
        parse_yaml_documents("a: 1\n---\nb: 1\nb: 2\n")


def test_the_line_of_a_value_is_found_by_its_keys() -> None:
    assert line_of(STACK, "config", "okd-baremetal:consent", "cp0") == 3
    assert line_of(STACK, "config", "okd-baremetal:consent", "cp1") is None
    assert line_of(STACK, "config", "okd-baremetal:consent", "cp0", "below") is None
    assert line_of("", "config") is None


def test_a_written_text_reads_back_unchanged() -> None:
    value = {"z": "long " * 50, "a": ["Zürich", "\U0001f600", "2026-11-25", "10:20", "0x1", None, 1, True]}
    assert parse_yaml(yaml_of(value)) == value
    assert yaml_of(value).startswith("z: ")
