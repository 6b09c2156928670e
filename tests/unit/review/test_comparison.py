"""What is not installed yet is compared with what the base branch would install."""

from typing import Any

import pytest

from cluster.plan import ClusterPlan
from review.document import Page, page_of
from review.preview import read_preview
from testing import plans
from testing.preview_steps import bmc_host, bootstrap_vm, file, installation, preview, step

PLAN = plans.plan()
FILE = file("compute", "/etc/a", None, "a\nb\n")


def first(plan: ClusterPlan) -> list[dict[str, Any]]:
    """Return some steps of the first `up`."""
    hosts = [step("create", f"okd-{host.name}", None, bmc_host(plan, host.name)) for host in plan.servers]
    masters = step("create", "okd-control-plane", None, installation(plan))
    return [*hosts, step("create", "okd-bootstrap", None, bootstrap_vm(plan)), masters]


def reviewed(base: list[dict[str, Any]], change: list[dict[str, Any]]) -> Page:
    now, before = (read_preview(preview(*steps), "") for steps in (change, base))
    return page_of(now, "prod", base=before)


def test_only_the_difference_is_shown_and_all_that_up_does_is_said() -> None:
    change = [*first(PLAN), file("compute", "/etc/a", None, "a\nB\n")]
    page = reviewed([*first(PLAN), FILE], change)
    assert [(each.title, each.lines) for each in page.files] == [("`/etc/a` on compute", (" a", "-b", "+B"))]
    assert page.inputs == ()
    alone = page_of(read_preview(preview(*change), ""), "prod")
    assert (page.verdict[:-1], page.digest) == (alone.verdict, alone.digest)
    assert page.verdict[-1].text == (
        "The base branch has 8 resources that `up` has not created yet; below is only what this change makes "
        "different in them."
    )


@pytest.mark.parametrize(
    ("changes", "name", "old", "new"),
    [
        ({"bootstrap": {**plans.options()["bootstrap"], "memory_mib": 8192}}, "memory_mib", 6144, 8192),
        ({"consent": {**plans.CONSENT, "okd-worker-0": "CZJ1"}}, "consent", "SERIAL-okd-worker-0", "CZJ1"),
        ({"deadlines": {"host_s": 7200}}, "deadline_s", 3600, 7200),
    ],
)
def test_one_changed_line_is_one_changed_input(changes: dict[str, Any], name: str, old: object, new: object) -> None:
    base = plans.plan(bootstrap={**plans.options()["bootstrap"], "memory_mib": 6144}, deadlines={"host_s": 3600})
    options = {"bootstrap": {**plans.options()["bootstrap"], "memory_mib": 6144}, "deadlines": {"host_s": 3600}}
    page = reviewed(first(base), first(plans.plan(**{**options, **changes})))
    assert [(each.name, each.old, each.new) for each in page.inputs] == [(name, old, new)]
    assert page.files == ()


def test_what_comes_and_what_goes_is_shown_in_full() -> None:
    other = file("compute", "/etc/b", None, "c\n")
    page = reviewed([*first(PLAN), FILE], [*first(PLAN), other])
    assert [(each.kind, each.lines) for each in page.files] == [("new", ("c",)), ("removed", ("/etc/a",))]


def test_what_is_installed_is_compared_with_the_state() -> None:
    change = [file("compute", "/etc/a", "a\nb\n", "a\nB\n"), file("compute", "/etc/b", None, "c\n")]
    base = [file("compute", "/etc/a", "a\nb\n", "a\nx\n")]
    page = reviewed(base, change)
    assert [(each.kind, each.lines) for each in page.files] == [("changed", (" a", "-b", "+B")), ("new", ("c",))]
    assert not any("base branch" in each.text for each in page.verdict)
