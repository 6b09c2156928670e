"""Single values of a YAML text change, and nothing else of it."""

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from base.errors import ConfigError
from base.yaml_edit import added, emptied

TEXT = """\
# ü
a: &one "ü" # 1
b: &two 0x1
c: |
  x
  y
d: *one
e: {f: x, g: [{h: "1 2", i: 3}]}
j: {<<: &three {k: x}}
l: {<<: *three}
m: {<<: [*three]}
"""


def test_each_way_to_write_a_scalar_can_be_emptied() -> None:
    places = [("a",), ("b",), ("c",), ("d",), ("e", "g", 0, "h"), ("j", "k"), ("l", "k"), ("m", "k")]
    assert (
        emptied(TEXT, *places)
        == """\
# ü
a: &one "" # 1
b: &two ""
c: ""
d: *one
e: {f: x, g: [{h: "", i: 3}]}
j: {<<: &three {k: ""}}
l: {<<: *three}
m: {<<: [*three]}
"""
    )


def test_an_anchor_behind_a_tag_stays_for_its_alias() -> None:
    assert emptied("a: !!str &one x\nb: *one\n", ("a",), ("b",)) == 'a: &one ""\nb: *one\n'


@pytest.mark.parametrize("text", ["a: &one ü\nb: *one\n", "b: &one ü\na: *one\n", "b: {a: &one ü}\na: *one\n"])
def test_an_alias_of_a_secret_elsewhere_is_refused(text: str) -> None:
    with pytest.raises(ConfigError, match=r"^b(\.a)?: is a secret's text, by .*\. Fix: write both") as refused:
        emptied(text, ("a",))
    assert "ü" not in str(refused.value)


@pytest.mark.parametrize("location", [("e",), ("e", "g"), ("none",), ("e", "g", 7), ("a", "b")])
def test_what_is_no_scalar_is_refused_without_its_value(location: tuple[str | int, ...]) -> None:
    with pytest.raises(ConfigError, match=r"not a single value\. Fix: ") as refused:
        emptied(TEXT, location)
    assert "1 2" not in str(refused.value)


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        pytest.param("", "a:\n  b.c: [1] # 1\n", id="empty"),
        pytest.param("# x\n", "# x\na:\n  b.c: [1] # 1\n", id="comment"),
        pytest.param("d: 1\n", "a:\n  b.c: [1] # 1\nd: 1\n", id="other-key"),
        pytest.param("a: # x\n", "a:\n  b.c: [1] # 1 # x\n", id="nothing"),
        pytest.param("a: {} # x\n", 'a: {"b.c": [1]} # x\n', id="braces"),
        pytest.param("a: {d: 1}\n", 'a: {"b.c": [1], d: 1}\n', id="flow"),
        pytest.param("a:\n\n    # x\n    d: 1\n", "a:\n\n    # x\n    b.c: [1] # 1\n    d: 1\n", id="four-blanks"),
    ],
)
def test_a_value_is_added_beside_what_is_there(text: str, wanted: str) -> None:
    assert added(text, ("a", "b.c"), [1], "1") == wanted


@pytest.mark.parametrize("text", ["a: 1\n", "a: [1]\n", "a: null\n", "- 1\n"])
def test_nothing_is_added_to_what_is_no_mapping(text: str) -> None:
    with pytest.raises(ConfigError, match="not a mapping"):
        added(text, ("a", "b"), 1)


NAMES = st.sampled_from(["a", "b", "on", "1e2", "ü", "c.d", "o:p", "x y", "-", "#", "'"])
TEXTS = st.sampled_from(["", "x", "a\nb", "é: #", "0x1", " lead", "\t", "😀", "{", "'"])
LEAVES = st.dictionaries(NAMES, st.one_of(st.integers(), TEXTS, st.lists(TEXTS)), min_size=1)
TREES = st.dictionaries(NAMES, LEAVES, min_size=1)


@given(tree=TREES, flow=st.sampled_from([None, False, True]), section=NAMES, name=NAMES, value=TEXTS)
def test_any_value_is_added_and_all_others_stay(
    tree: dict[str, dict[str, object]], flow: bool | None, section: str, name: str, value: str
) -> None:
    tree.get(section, {}).pop(name, None)
    text = yaml.safe_dump(tree, default_flow_style=flow, allow_unicode=True)
    wanted = {**tree, section: {**tree.get(section, {}), name: value}}
    assert yaml.safe_load(added(text, (section, name), value)) == wanted
