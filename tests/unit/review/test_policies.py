"""Each policy can be kept and broken."""

from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from cli.__main__ import POLICIES
from review.html import html
from review.markdown import LIMIT, markdown
from review.page import page_of
from review.policies import RULES, Facts, Judged, judged
from review.preview import read_preview
from testing.preview_steps import bmc_host, installation, preview, records, step

NOW = datetime(2026, 11, 23, 12, tzinfo=UTC)
INSTALLS = step("create", "HostProvisioning", "okd-x", None, installation("m0", "m1"))


def facts(
    *steps: Mapping[str, Any],
    written: Mapping[str, datetime | str] | None = None,
    backend: str = "s3://b",
    **options: Any,
) -> Facts:
    def of(option: str, host: str) -> datetime | str:
        return (written or {})[f"{option}.{host}"]

    return Facts(read_preview(preview(*steps, **options), ""), NOW, of, lambda: backend)


def breaches(name: str, given: Facts) -> tuple[str, ...]:
    (verdict,) = judged(given, [name])
    assert verdict.name == name
    return verdict.breaches


def test_the_command_line_names_the_policies() -> None:
    assert tuple(RULES) == POLICIES


def test_a_consent_counts_for_thirty_days() -> None:
    written = {"consent.m0": NOW - timedelta(days=30, hours=23), "consent.m1": NOW - timedelta(days=31)}
    assert breaches("consent", facts(INSTALLS, written=written)) == (
        "consent.m1 was written 31 days ago; write it anew",
    )


def test_a_consent_of_unknown_age_does_not_count() -> None:
    written: dict[str, datetime | str] = {"consent.m0": "it is not committed", "consent.m1": NOW}
    assert breaches("consent", facts(INSTALLS, written=written)) == (
        "consent.m0: nobody can tell when it was written: it is not committed",
    )


def test_a_reinstallation_needs_its_own_line() -> None:
    again = installation("m0", "m1", reinstall={"m0": "uuid-m0"})
    update = step("update", "HostProvisioning", "okd-x", installation("m0", "m1"), again, outs=records("m0", "m1"))
    old = {"reinstall.m0": NOW - timedelta(days=40)}
    assert breaches("consent", facts(update, written=old)) == ("reinstall.m0 was written 40 days ago; write it anew",)


def test_a_server_that_may_be_another_machine_needs_a_new_consent() -> None:
    host = step("update", "BmcHost", "okd-m0", bmc_host("m0"), bmc_host("m0", consent="NEW"))
    same = step("update", "HostProvisioning", "okd-x", installation("m0"), installation("m0"), outs=records("m0"))
    old = {"consent.m0": NOW - timedelta(days=40)}
    assert breaches("consent", facts(host, same, written=old)) == (
        "consent.m0 was written 40 days ago; write it anew",
    )


def test_an_update_that_wipes_nothing_needs_no_consent() -> None:
    later = installation("m0", payload_sha256="b2")
    update = step("update", "HostProvisioning", "okd-x", installation("m0"), later, outs=records("m0"))
    assert breaches("consent", facts(update)) == ()


@pytest.mark.parametrize(("verify", "broken"), [(True, False), (False, True)])
def test_certificates_are_verified(verify: bool, broken: bool) -> None:
    host = bmc_host("m0")
    host["bmc"]["verify"] = verify
    found = breaches("certificates", facts(step("create", "BmcHost", "okd-m0", None, host)))
    assert found == (("the certificate of the BMC of m0 is not verified",) if broken else ())
    assert breaches("certificates", facts(step("delete", "BmcHost", "okd-m0", host))) == ()


@pytest.mark.parametrize(
    ("phase", "value", "broken"),
    [("production", "true", True), ("production", "false", False), ("bootstrap", "true", False)],
)
def test_a_cluster_in_production_is_not_destroyable(phase: str, value: str, broken: bool) -> None:
    found = breaches("destroyable", facts(phase=phase, destroyable=value))
    assert found == (("the options have phase production and destroyable true",) if broken else ())


@pytest.mark.parametrize(
    ("url", "found"),
    [
        ("s3://bucket", ()),
        ("postgres://user:hunter2@db/x", ()),
        ("file://~", ("the backend is `file://~`",)),
    ],
)
def test_the_backend_is_shared(url: str, found: tuple[str, ...]) -> None:
    assert breaches("backend", facts(backend=url)) == found


def test_all_policies_are_judged_if_none_is_named() -> None:
    assert [each.name for each in judged(facts(), [])] == [*POLICIES]


def test_policies_stand_after_the_verdict_and_are_never_left_out() -> None:
    kept, broken = Judged("backend", "What.", ()), Judged("consent", "Why `x`.", ("consent.m0: old <b>",) * 300)
    page = page_of(read_preview(preview(INSTALLS), ""), "prod", (kept, broken))
    written = markdown(page)
    assert "\n### Policies\n\n- kept: backend\n- **broken: consent**. Why `x`.\n  - consent.m0: old" in written
    assert written.count("  - consent.m0") == 300
    assert len(written.encode()) <= LIMIT
    assert "<li>kept: backend</li>" in html(page)
    assert html(page).count("<li>consent.m0: old &lt;b&gt;</li>") == 300
