"""What a run did when, from the lines of its log."""

import json
from typing import Any

from cli.timeline import Row, Span, rows_of
from providers.base.log_entries import entries_in


def line(second: float, text: str, machine: str = "", kind: str = "step", resource: str = "BmcHost::okd-m0") -> str:
    minutes, seconds = divmod(second, 60)
    content: dict[str, Any] = {"time": f"2026-11-23T06:{minutes:02.0f}:{seconds:06.3f}Z", "kind": kind, "text": text}
    return json.dumps({**content, "resource": resource, **({"machine": machine} if machine else {})})


def test_the_lines_of_progress_of_a_step_are_one_span() -> None:
    lines = [
        line(0, "create: begins", "m0"),
        line(1, "identified: Dell, UUID 1", "m0"),
        line(3, "installing from ISO: 3 % read; 2 s spent, at most 98 s left", "m0"),
        line(9, "installing from ISO: 9 % read; 8 s spent, about 5 s left, at most 92 s", "m0"),
        line(20, "booting from disk; 19 s spent", "m0"),
        line(50, "installed; 49 s spent", "m0"),
    ]
    spans = [
        Span("create", 0, 1),
        Span("identified", 1, 3),
        Span("installing from ISO", 3, 20),
        Span("booting from disk", 20, 50),
    ]
    assert rows_of(entries_in(lines)) == [Row("m0", spans)]


def test_nothing_is_drawn_between_two_works_on_a_machine() -> None:
    lines = [
        line(0, "create: begins", "m0"),
        line(2, "create: done in 2.0 s", "m0"),
        line(60, "media", "m0", resource="HostProvisioning::okd-control-plane"),
        line(61, "adopted; 1 s spent", "m0", resource="HostProvisioning::okd-control-plane"),
    ]
    assert rows_of(entries_in(lines)) == [Row("m0", [Span("create", 0, 2), Span("media", 60, 61)])]


def test_a_resource_about_no_machine_has_its_own_row_in_the_order_of_the_run() -> None:
    lines = [
        line(0, "create: begins", resource="VipHandoff::okd-api"),
        line(1, "media", "m0"),
        line(2, "prove: answered by nobody; at most 9 s left", resource="VipHandoff::okd-api"),
        line(4, "create: done in 4.0 s", resource="VipHandoff::okd-api"),
        line(5, "installed; 4 s spent", "m0"),
    ]
    assert rows_of(entries_in(lines)) == [
        Row("okd-api", [Span("create", 0, 2), Span("prove", 2, 4)]),
        Row("m0", [Span("media", 1, 5)]),
    ]


def test_an_error_ends_its_step_and_belongs_to_its_row() -> None:
    lines = [line(0, "media", "m0"), line(7, "BmcError: no", "m0", kind="error"), line(8, "media", "m1")]
    found = rows_of(entries_in([*lines, line(9, "installed; 1 s spent", "m1")]))
    assert found == [Row("m0", [Span("media", 0, 7)], ["BmcError: no"]), Row("m1", [Span("media", 8, 9)])]


def test_a_run_that_was_killed_ends_with_its_last_line() -> None:
    lines = [line(0, "media", "m0"), line(4, "media", "m1"), '{"time": "2026-1']
    assert rows_of(entries_in(lines)) == [Row("m0", [Span("media", 0, 4)]), Row("m1", [Span("media", 4, 4)])]


def test_requests_and_probes_are_no_steps() -> None:
    assert rows_of(entries_in([line(0, "GET /redfish/v1", "m0", kind="request")])) == []


def test_a_step_that_comes_twice_has_the_sum_of_its_seconds() -> None:
    row = Row("m0", [Span("media", 0, 2), Span("starting the installer", 2, 3), Span("media", 3, 7)])
    assert row.seconds == {"media": 6, "starting the installer": 1}
