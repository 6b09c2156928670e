"""`fleet.yaml`: what it says is what runs, and what it must not say is refused, all of it at once."""

from pathlib import Path
from textwrap import dedent

import pytest
from jsonschema import Draft202012Validator

from base.errors import ConfigError
from base.yaml_text import parse_yaml
from fleet.plan import Fleet, Gate, load, schema

FULL = """
sites:
  north: [north-a, north-b]
  south: [south-a]
gates: [production]
approvers: {jane: "5eed5eed5eed5eed5eed5eed5eed5eed5eed5eed5eed5eed5eed5eed5eed5eed"}
waves:
  - clusters: [south-a]
  - at_a_time: 10
    hold_at: 2
"""
SITES = "sites: {north: [north-a, north-b], south: [south-a]}"
NAME_FIX = "write at most 63 letters, digits and hyphens; begin and end with a letter or digit"
TWICE = "Fix: remove one of the two"


def loaded(folder: Path, text: str) -> Fleet:
    file = folder / "fleet.yaml"
    file.write_text(dedent(text))
    return load(file)


def refused(folder: Path, text: str) -> list[str]:
    """Return the faults, which begin with the file."""
    with pytest.raises(ConfigError) as caught:
        loaded(folder, text)
    start = f"{folder / 'fleet.yaml'}: "
    lines = str(caught.value).splitlines()
    assert all(line.startswith(start) for line in lines)
    return [line.removeprefix(start) for line in lines]


def test_every_field_is_read(tmp_path: Path) -> None:
    fleet = loaded(tmp_path, FULL)
    assert fleet.clusters == ("north-a", "north-b", "south-a")
    assert [fleet.site_of[cluster] for cluster in fleet.clusters] == ["north", "north", "south"]
    assert fleet.gates == (Gate.PRODUCTION,)
    assert fleet.approvers == {"jane": "5eed" * 16}
    first, last = fleet.resolved_waves
    assert (first.clusters, first.at_a_time, first.hold_at) == (("south-a",), 1, 1)
    assert (last.clusters, last.at_a_time, last.hold_at) == (("north-a", "north-b"), 10, 2)


def test_sites_alone_are_one_wave_of_all_one_at_a_time_with_both_gates(tmp_path: Path) -> None:
    fleet = loaded(tmp_path, SITES)
    [wave] = fleet.resolved_waves
    assert (wave.clusters, wave.at_a_time, wave.hold_at) == (fleet.clusters, 1, 1)
    assert fleet.gates == (Gate.BOOTSTRAP, Gate.PRODUCTION, Gate.UPGRADE)
    assert fleet.upgrades == {}


@pytest.mark.parametrize("text", [FULL, SITES])
def test_a_fleet_survives_a_round_trip_through_json(tmp_path: Path, text: str) -> None:
    fleet = loaded(tmp_path, text)
    assert Fleet.model_validate_json(fleet.model_dump_json()) == fleet


@pytest.mark.parametrize("key", ["5eed", "5eed" * 17, "5EED" * 16, "x" * 64, f"{'5eed' * 16} "])
def test_what_is_no_public_key_is_refused(tmp_path: Path, key: str) -> None:
    [line] = refused(tmp_path, f"{SITES}\napprovers: {{jane: '{key}'}}")
    assert line == (
        f"approvers.jane: {key} is no public key of 64 hexadecimal digits. "
        "Fix: write the line that `okd-baremetal fleet approver NAME FILE` printed"
    )


def test_the_clusters_of_a_wave_are_upgraded_to_the_release_that_it_names(tmp_path: Path) -> None:
    release = f"{{version: 4.21.3-okd-scos.1, image: 'quay.io/okd/scos-release@sha256:{'5e' * 32}'}}"
    waves = f"waves: [{{clusters: [south-a]}}, {{upgrade: {release}}}]"
    fleet = loaded(tmp_path, f"{SITES}\n{waves}")
    assert fleet.upgrades.keys() == {"north-a", "north-b"}
    assert {(each.version, each.image) for each in fleet.upgrades.values()} == {
        ("4.21.3-okd-scos.1", f"quay.io/okd/scos-release@sha256:{'5e' * 32}")
    }


@pytest.mark.parametrize(
    ("release", "start"),
    [
        pytest.param("{version: 4.21.3}", "waves[0].upgrade.image: missing", id="no-image"),
        pytest.param(
            "{version: 4.21.3, image: 'okd:4.21.3'}", "waves[0].upgrade.image: an image by its digest", id="tag"
        ),
        pytest.param(
            f"{{version: v4.21, image: 'okd@sha256:{'5e' * 32}'}}",
            "waves[0].upgrade.version: a version such as",
            id="no",
        ),
    ],
)
def test_a_release_is_named_by_version_and_digest(tmp_path: Path, release: str, start: str) -> None:
    [line] = refused(tmp_path, f"{SITES}\nwaves: [{{upgrade: {release}}}]")
    assert line.startswith(start), line


def test_an_empty_list_of_gates_means_no_gates(tmp_path: Path) -> None:
    assert loaded(tmp_path, f"{SITES}\ngates: []").gates == ()


def test_a_wave_has_its_clusters_in_its_own_order(tmp_path: Path) -> None:
    fleet = loaded(tmp_path, f"{SITES}\nwaves: [{{clusters: [south-a, north-b]}}, {{clusters: [north-a]}}]")
    assert [wave.clusters for wave in fleet.resolved_waves] == [("south-a", "north-b"), ("north-a",)]


@pytest.mark.parametrize(
    ("waves", "line"),
    [
        pytest.param(
            "[{clusters: [north-x]}, {}]",
            "waves[0].clusters[0]: north-x is at no site. Fix: write a cluster of `sites`, or add it there",
            id="unknown-cluster",
        ),
        pytest.param(
            "[{clusters: [north-a]}, {clusters: [south-a, north-a]}, {}]",
            f"waves[1].clusters[1]: north-a is waves[0].clusters[0] already. {TWICE}",
            id="cluster-in-two-waves",
        ),
        pytest.param(
            "[{clusters: [north-a, north-b]}]",
            "sites.south[0]: south-a is in no wave. Fix: name it in one, or end with a wave without `clusters`",
            id="cluster-in-no-wave",
        ),
        pytest.param(
            "[{}, {clusters: [north-a]}]",
            "waves[0]: names no clusters, and is not the last. Fix: name them, or move it",
            id="unnamed-wave-before-another",
        ),
        pytest.param(
            "[{clusters: [north-a, north-b, south-a]}, {}]",
            "waves[1]: no cluster is left for it. Fix: remove it",
            id="unnamed-wave-with-nothing-left",
        ),
        pytest.param(
            "[{at_a_time: 0}]",
            "waves[0].at_a_time: Input should be greater than or equal to 1",
            id="none-at-a-time",
        ),
        pytest.param(
            "[{hold_at: 0}]", "waves[0].hold_at: Input should be greater than or equal to 1", id="always-held"
        ),
        pytest.param("[]", "waves: it is empty. Fix: write at least one, or remove it", id="no-wave"),
        pytest.param(
            "[{at_atime: 2}]", "waves[0].at_atime: unknown key. Fix: write at_a_time, or remove it", id="unknown-key"
        ),
    ],
)
def test_a_wrong_wave_is_one_line(tmp_path: Path, waves: str, line: str) -> None:
    assert refused(tmp_path, f"{SITES}\nwaves: {waves}") == [line]


@pytest.mark.parametrize(
    ("text", "line"),
    [
        pytest.param(
            "sites: {north: [a], south: [b, a]}",
            f"sites.south[1]: a is sites.north[0] already. {TWICE}",
            id="cluster-at-two-sites",
        ),
        pytest.param(
            "sites: {north: [a, a]}", f"sites.north[1]: a is sites.north[0] already. {TWICE}", id="cluster-twice"
        ),
        pytest.param(
            "sites: {north: []}", "sites.north: it is empty. Fix: write at least one, or remove it", id="empty-site"
        ),
        pytest.param(
            "sites: {north: [a], south: }",
            "sites.south: a list is wanted. Fix: put a hyphen before each element",
            id="null-site",
        ),
        pytest.param("sites: {}", "sites: it is empty. Fix: write at least one, or remove it", id="no-site"),
        pytest.param("gates: []", "sites: missing. Fix: add it", id="missing-sites"),
        pytest.param(
            "sites: {a_b: [c]}",
            f"sites.a_b: a_b is not a name. Fix: {NAME_FIX}",
            id="site-that-is-no-label",
        ),
        pytest.param(
            "sites: {north: [a.b]}", f"sites.north[0]: a.b is not a name. Fix: {NAME_FIX}", id="dot-in-a-name"
        ),
        pytest.param(
            "sites: {north: [-a]}", f"sites.north[0]: -a is not a name. Fix: {NAME_FIX}", id="hyphen-before-a-name"
        ),
        pytest.param(
            f"sites: {{north: [{'a' * 64}]}}",
            f"sites.north[0]: {'a' * 64} is not a name. Fix: {NAME_FIX}",
            id="long-name",
        ),
        pytest.param(
            "sites: {north: [7]}",
            "sites.north[0]: text is wanted. Fix: write one value in quotes, no list and no mapping",
            id="number-as-a-name",
        ),
        pytest.param(
            f"{SITES}\ngates: [boot]",
            "gates[0]: Input should be 'bootstrap', 'production' or 'upgrade'",
            id="no-phase",
        ),
        pytest.param(
            "sites:\n  north: [a]\n  north: [b]",
            "not valid YAML at line 3, column 3: a duplicate key. Fix: keep one of the two",
            id="duplicate-key",
        ),
    ],
)
def test_a_wrong_file_is_one_line(tmp_path: Path, text: str, line: str) -> None:
    assert refused(tmp_path, text) == [line]


def test_all_faults_are_found_at_once(tmp_path: Path) -> None:
    text = """
        sites: {north: [a, b], south: [a]}
        waves: [{}, {clusters: [x]}, {clusters: [x]}]
    """
    places = [line.partition(": ")[0] for line in refused(tmp_path, text)]
    assert places == [
        "sites.south[0]",
        "waves[2].clusters[0]",
        "waves[1].clusters[0]",
        "waves[2].clusters[0]",
        "waves[0]",
    ]


def test_a_file_that_is_not_there_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "none.yaml"
    with pytest.raises(ConfigError) as caught:
        load(file)
    assert str(caught.value) == f"{file}: cannot be read: No such file or directory"


def test_an_empty_file_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ConfigError) as caught:
        loaded(tmp_path, "")
    assert str(caught.value) == f"{tmp_path / 'fleet.yaml'}: a mapping is wanted. Fix: write `key: value` below it"


def test_the_schema_takes_a_good_file_and_refuses_slips_of_the_pen() -> None:
    judge = Draft202012Validator(schema())
    judge.check_schema(schema())
    assert judge.is_valid(parse_yaml(FULL))
    assert not judge.is_valid(parse_yaml(f"{SITES}\nwave: []"))
    assert not judge.is_valid(parse_yaml("sites: {north: [a_b]}"))
