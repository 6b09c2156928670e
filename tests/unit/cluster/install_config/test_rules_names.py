"""The file's version, the cluster's name and its domain."""

import pytest
from hypothesis import given

from testing.any_text import any_text
from testing.install_configs import Change, fine, lines, refused


def version(value: object) -> Change:
    return lambda c: c.update(apiVersion=value)


def name(value: object) -> Change:
    return lambda c: c["metadata"].update(name=value)


def domain(value: object) -> Change:
    return lambda c: c.update(baseDomain=value)


def both(cluster: str, base: str) -> Change:
    return lambda c: c.update(metadata={"name": cluster}, baseDomain=base)


def labels(*lengths: int) -> str:
    return ".".join("a" * length for length in lengths)


@pytest.mark.parametrize(
    "change",
    [
        pytest.param(version("v1beta3"), id="first-old-version"),
        pytest.param(version("v1beta4"), id="last-old-version"),
        pytest.param(lambda c: c.update(kind="Anything"), id="kind-is-not-judged"),
        pytest.param(lambda c: c["metadata"].update(namespace="X Y", labels={"a": "b"}), id="other-metadata"),
        pytest.param(name("a"), id="name-of-one-letter"),
        pytest.param(name("7"), id="name-of-one-digit"),
        pytest.param(name(7), id="name-as-a-number"),
        pytest.param(name("a--1"), id="name-with-hyphens-inside"),
        pytest.param(name("a" * 54), id="longest-name"),
        pytest.param(domain("test"), id="domain-of-one-label"),
        pytest.param(domain("lab.example.com."), id="domain-with-a-trailing-dot"),
        pytest.param(domain("1.2-3.x"), id="domain-with-digits-and-hyphens"),
        pytest.param(domain(labels(63, 3)), id="longest-label"),
        pytest.param(both("abc", labels(63, 63, 63, 57)), id="longest-domain-with-its-name"),
        pytest.param(both("abc", labels(63, 63, 63, 57) + "."), id="longest-domain-with-a-trailing-dot"),
    ],
)
def test_a_good_name_passes(change: Change) -> None:
    fine(change)


@pytest.mark.parametrize(
    ("change", "line"),
    [
        pytest.param(lambda c: c.pop("apiVersion"), "apiVersion: missing. Fix: write v1", id="no-version"),
        pytest.param(version(""), "apiVersion: missing", id="empty-version"),
        pytest.param(version("v1beta2"), "apiVersion: v1beta2 is unknown. Fix: write v1", id="version-too-old"),
        pytest.param(version("v2"), "apiVersion: v2 is unknown", id="version-to-come"),
        pytest.param(version("V1"), "apiVersion: V1 is unknown", id="version-in-upper-case"),
        pytest.param(lambda c: c.pop("metadata"), "metadata.name: missing. Fix: name the cluster", id="no-metadata"),
        pytest.param(name(""), "metadata.name: missing", id="empty-name"),
        pytest.param(name(None), "metadata.name: missing", id="name-null"),
        pytest.param(
            name("my.okd"), "metadata.name: my.okd has a dot. Fix: write only the first part", id="name-with-a-dot"
        ),
        pytest.param(
            name("a" * 55), f"metadata.name: {'a' * 55} has 55 characters. Fix: write at most 54", id="long-name"
        ),
        pytest.param(
            name("OKD"), "metadata.name: OKD is not a DNS name. Fix: write lower-case", id="name-in-upper-case"
        ),
        pytest.param(name("-okd"), "metadata.name: -okd is not a DNS name", id="name-begins-with-a-hyphen"),
        pytest.param(name("okd-"), "metadata.name: okd- is not a DNS name", id="name-ends-with-a-hyphen"),
        pytest.param(name("o_k"), "metadata.name: o_k is not a DNS name", id="name-with-an-underscore"),
        pytest.param(name("zürich"), "metadata.name: zürich is not a DNS name", id="name-beyond-ascii"),
        pytest.param(name("okd٣"), "metadata.name: okd٣ is not a DNS name", id="name-with-a-foreign-digit"),
        pytest.param(name("okd\n"), r"metadata.name: okd\n is not a DNS name", id="name-with-a-line-break"),
        pytest.param(both("a.b", labels(63, 63, 63, 58)), "metadata.name: a.b has a dot", id="one-line-of-two"),
        pytest.param(
            lambda c: c.pop("baseDomain"), "baseDomain: missing. Fix: write the parent domain", id="no-domain"
        ),
        pytest.param(domain("."), "baseDomain: missing", id="domain-of-a-dot"),
        pytest.param(domain("Lab.test"), "baseDomain: Lab.test is not a DNS name", id="domain-in-upper-case"),
        pytest.param(
            domain("lab.test.."), "baseDomain: lab.test. is not a DNS name", id="domain-with-two-trailing-dots"
        ),
        pytest.param(domain(".lab.test"), "baseDomain: .lab.test is not a DNS name", id="domain-with-a-leading-dot"),
        pytest.param(domain("lab..test"), "baseDomain: lab..test is not a DNS name", id="domain-with-an-empty-label"),
        pytest.param(domain("*.test"), "baseDomain: *.test is not a DNS name", id="domain-with-a-wildcard"),
        pytest.param(domain("lab.test/x"), "baseDomain: lab.test/x is not a DNS name", id="domain-with-a-path"),
        pytest.param(domain("-lab.test"), "baseDomain: -lab.test is not a DNS name", id="label-begins-with-a-hyphen"),
        pytest.param(
            domain(labels(64, 3)),
            f"baseDomain: {'a' * 64} has 64 characters. Fix: write at most 63 in a part between dots",
            id="long-label",
        ),
        pytest.param(
            domain(labels(63, 63, 63, 58)), "baseDomain: has 254 characters with the", id="name-fills-it-up"
        ),
        pytest.param(
            domain(labels(63, 63, 63, 63)),
            "baseDomain: has 255 characters. Fix: write at most 253, the limit of a DNS name",
            id="long-domain",
        ),
        pytest.param(both("abcd", labels(63, 63, 63, 57)), "baseDomain: has 254 characters with", id="one-too-many"),
    ],
)
def test_a_bad_name_is_refused(change: Change, line: str) -> None:
    refused(change, line)


def test_a_bad_name_and_a_bad_domain_have_a_line_each() -> None:
    refused(both("a.b", "C"), "metadata.name: a.b has a dot", "baseDomain: C is not a DNS name")


@given(any_text(), any_text())
def test_any_text_as_a_name_gives_only_printable_lines_about_it(cluster: str, base: str) -> None:
    faults = lines(both(cluster, base))
    assert all(line.isprintable() and line.startswith(("metadata.name: ", "baseDomain: ")) for line in faults)
