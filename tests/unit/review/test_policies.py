"""Each policy can be kept and broken."""

from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from cluster.plan import Role
from providers.bmc_host.model import BmcHostSpec
from review.document import page_of
from review.html import html
from review.markdown import LIMIT, markdown
from review.policies import RULES, Facts, PolicyResult, check_policies
from review.preview import read_preview
from testing import plans
from testing.install_configs import bare
from testing.plan_files import Files
from testing.preview_steps import bmc_host, installation, preview, records, step

NOW = datetime(2026, 11, 23, 12, tzinfo=UTC)
PLAN = plans.plan()
M0, M1, M2, W0, W1 = plans.HOSTS
INSTALLS = step("create", "okd-x", None, installation(PLAN, Role.COMPUTE))


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
    (verdict,) = check_policies(given, [name])
    assert verdict.name == name
    return verdict.breaches


def test_a_consent_counts_for_thirty_days() -> None:
    written = {f"consent.{W0}": NOW - timedelta(days=30, hours=23), f"consent.{W1}": NOW - timedelta(days=31)}
    assert breaches("consent", facts(INSTALLS, written=written)) == (
        f"consent.{W1} was written 31 days ago; write it again",
    )


def test_a_consent_of_unknown_age_does_not_count() -> None:
    written: dict[str, datetime | str] = {f"consent.{W0}": "it is not committed", f"consent.{W1}": NOW}
    assert breaches("consent", facts(INSTALLS, written=written)) == (
        f"consent.{W0}: it is unknown when it was written: it is not committed",
    )


def test_a_reinstallation_needs_its_own_line() -> None:
    again = installation(plans.plan(reinstall={M0: "u0"}))
    update = step("update", "okd-x", installation(PLAN), again, outs=records(PLAN, M0, M1, M2))
    old = {f"reinstall.{M0}": NOW - timedelta(days=40)}
    assert breaches("consent", facts(update, written=old)) == (
        f"reinstall.{M0} was written 40 days ago; write it again",
    )


def test_a_server_that_may_be_another_machine_needs_a_new_consent() -> None:
    consented = plans.plan(consent={**plans.CONSENT, M0: "NEW"})
    host = step("update", f"okd-{M0}", bmc_host(PLAN, M0), bmc_host(consented, M0))
    same = step("update", "okd-x", installation(PLAN), installation(PLAN), outs=records(PLAN, M0, M1, M2))
    old = {f"consent.{M0}": NOW - timedelta(days=40)}
    assert breaches("consent", facts(host, same, written=old)) == (
        f"consent.{M0} was written 40 days ago; write it again",
    )


def test_a_further_disk_needs_a_line_of_its_own() -> None:
    named = plans.plan(wipe_disks={M0: ["S1"]})
    again = installation(plans.plan(reinstall={M0: "u0"}, wipe_disks={M0: ["S1"], M1: ["S2"]}))
    update = step("update", "okd-x", installation(named), again, outs=records(PLAN, M0, M1, M2))
    old = {f"reinstall.{M0}": NOW, f"wipe_disks.{M0}": NOW - timedelta(days=40)}
    assert breaches("consent", facts(update, written=old)) == (
        f"wipe_disks.{M0} was written 40 days ago; write it again",
    )


def test_an_update_that_wipes_nothing_needs_no_consent() -> None:
    later = installation(plans.plan(payload={**plans.PAYLOAD, "master": "b2" * 32}))
    update = step("update", "okd-x", installation(PLAN), later, outs=records(PLAN, M0, M1, M2))
    assert breaches("consent", facts(update)) == ()


@pytest.mark.parametrize(
    ("operation", "was_verified", "is_verified"),
    [
        ("create", None, True),
        ("create", None, False),
        ("update", True, False),
        ("replace", True, False),
        ("update", False, True),
        ("delete", False, None),
    ],
)
def test_certificates_are_verified(
    tmp_path: Path, operation: str, was_verified: bool | None, is_verified: bool | None
) -> None:
    def host(verified: bool | None) -> BmcHostSpec | None:
        if verified is None:
            return None
        change = {"disableCertificateVerification": not verified}
        return bmc_host(Files(tmp_path).plan(lambda config: bare(config)["hosts"][3]["bmc"].update(change)), W0)

    update = step(operation, f"okd-{W0}", host(was_verified), host(is_verified))
    wanted = (f"the certificate of the BMC of {W0} is not verified",) if is_verified is False else ()
    assert breaches("certificates", facts(update)) == wanted


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


def test_all_policies_are_checked_if_none_is_named() -> None:
    assert [each.name for each in check_policies(facts(), [])] == [*RULES]


def test_policies_stand_after_the_verdict_and_are_never_left_out() -> None:
    kept, broken = (
        PolicyResult("backend", "What.", ()),
        PolicyResult("consent", "Why `x`.", ("consent.m0: old <b>",) * 300),
    )
    page = page_of(read_preview(preview(INSTALLS), ""), "prod", (kept, broken))
    written = markdown(page)
    assert "\n### Policies\n\n- passed: backend\n- **failed: consent**. Why `x`.\n  - consent.m0: old" in written
    assert written.count("  - consent.m0") == 300
    assert len(written.encode()) <= LIMIT
    assert "<li>passed: backend</li>" in html(page)
    assert html(page).count("<li>consent.m0: old &lt;b&gt;</li>") == 300
