"""Scalars without quotes, beside what Go made of them.

Source: sigs.k8s.io/yaml 1.6.0 (with go.yaml.in/yaml v2.4.2), run on 2026-11-26 with Go 1.26.8: its UnmarshalStrict of
`text: <scalar>` into a struct with a field of type string.
"""

import math

import pytest

from base.yaml_scalars import scalar
from base.yaml_text import parse_yaml, parse_yaml_as_written, yaml_of
from cluster.install_config.section import as_text

GO = [line.split() for line in """\
    0x6000c29e1b2c3d4e5f60718293a4b5c6 0x6000c29e1b2c3d4e5f60718293a4b5c6
    0x5000c500a1b2c3d4 5764824129537754068
    0xffffffffffffffff 18446744073709551615
    0x10000000000000000 0x10000000000000000
    0X1f 31
    00123456 42798
    0123 83
    0o17 15
    0o8 0o8
    0b101 5
    0b12 0b12
    0x 0x
    0x_1 1
    1_000 1000
    1_000.5 1000.5
    123456 123456
    9223372036854775807 9223372036854775807
    18446744073709551615 18446744073709551615
    -5 -5
    +5 5
    -0 0
    -0x10 -16
    00 0
    08 8
    5e1 50
    1e+21 1e+21
    1e400 1e400
    123e456 123e456
    5000c500e1234567 5000c500e1234567
    1.5 1.5
    1.10 1.1
    1. 1
    -.5 -0.5
    0.00001 1e-05
    inf inf
    true true
    TRUE true
    tRue tRue
    yes true
    No false
    on true
    Off false
    y true
    N false
    2020-01-01 2020-01-01
    12:30:45 12:30:45
    52:54:00:12:34:56 52:54:00:12:34:56
    = =
""".splitlines()]  # fmt: skip


@pytest.mark.parametrize(("written", "text"), [pytest.param(*pair, id=pair[0]) for pair in GO])
def test_a_scalar_is_what_go_reads(written: str, text: str) -> None:
    assert as_text(scalar(written)) == text
    assert as_text(parse_yaml(f"text: {written}")["text"]) == text
    assert parse_yaml_as_written(f"text: {written}") == {"text": written}


@pytest.mark.parametrize("written", [pair[0] for pair in GO])
def test_a_text_that_go_would_read_as_another_type_is_written_in_quotes(written: str) -> None:
    """name-0o17, name-7e3, name-y: the payload's config had another name than the cluster."""
    is_text = isinstance(scalar(written), str)
    line = yaml_of({"text": written})
    assert parse_yaml(line) == {"text": written}
    assert is_text or line == f"text: '{written}'\n"


@pytest.mark.parametrize("written", ["", "~", "null", "NULL"])
def test_null_is_none(written: str) -> None:
    assert scalar(written) is None
    assert parse_yaml_as_written(f"text: {written}") == {"text": None}


def test_infinity_is_a_number() -> None:
    assert scalar("-.inf") == -math.inf
    assert math.isnan(float(str(scalar(".nan"))))


@pytest.mark.parametrize("key", ["0x10", "yes", "~", "1.10"])
def test_a_key_is_text_as_in_json(key: str) -> None:
    assert parse_yaml(f"{key}: {{{key}: 1}}") == {key: {key: 1}}
