"""What a run did when, from the lines of its log."""

import logging
from datetime import UTC, datetime

from base.log_entries import Event, JsonLine, entries_in
from cli.runs.timeline import Span, Timeline, timelines_of

START_S = datetime(2026, 11, 23, 6, tzinfo=UTC).timestamp()


def line(
    second: float,
    step: str,
    machine: str = "",
    event: Event = Event.STEP,
    resource: str = "BmcHost::okd-m0",
    *,
    text: str = "",
) -> str:
    """Return a line as the log writes it; the text of an error is its `step`."""
    is_step = event is not Event.ERROR
    fields = {"event": event, "resource": resource, "machine": machine, "step": step if is_step else ""}
    seconds = {"seconds": float(second)} if event is Event.END else {}
    record = logging.makeLogRecord(
        {"name": "", **fields, **seconds, "created": START_S + second, "msg": text or step}
    )
    return JsonLine().format(record)


def test_the_lines_of_progress_of_a_step_are_one_span() -> None:
    lines = [
        line(0, "create", "m0", Event.BEGIN),
        line(1, "identified", "m0"),
        line(3, "installing from ISO", "m0", text="3 % read"),
        line(9, "installing from ISO", "m0", text="9 % read"),
        line(20, "booting from disk", "m0"),
        line(50, "installed", "m0", Event.END),
    ]
    spans = [
        Span("create", 0, 1),
        Span("identified", 1, 3),
        Span("installing from ISO", 3, 20),
        Span("booting from disk", 20, 50),
    ]
    assert timelines_of(entries_in(lines)) == [Timeline("m0", spans)]


def test_idle_time_between_two_operations_on_a_machine_is_left_blank() -> None:
    lines = [
        line(0, "create", "m0", Event.BEGIN),
        line(2, "create", "m0", Event.END),
        line(60, "media", "m0", resource="HostProvisioning::okd-control-plane"),
        line(61, "adopted", "m0", Event.END, resource="HostProvisioning::okd-control-plane"),
    ]
    assert timelines_of(entries_in(lines)) == [Timeline("m0", [Span("create", 0, 2), Span("media", 60, 61)])]


def test_a_resource_about_no_machine_has_its_own_timeline() -> None:
    lines = [
        line(0, "create", event=Event.BEGIN, resource="VipHandoff::okd-api"),
        line(1, "media", "m0"),
        line(2, "prove", resource="VipHandoff::okd-api"),
        line(4, "create", event=Event.END, resource="VipHandoff::okd-api"),
        line(5, "installed", "m0", Event.END),
    ]
    assert timelines_of(entries_in(lines)) == [
        Timeline("okd-api", [Span("create", 0, 2), Span("prove", 2, 4)]),
        Timeline("m0", [Span("media", 1, 5)]),
    ]


def test_an_error_ends_its_step_and_belongs_to_its_row() -> None:
    lines = [line(0, "media", "m0"), line(7, "BmcRefusedError: no", "m0", Event.ERROR), line(8, "media", "m1")]
    found = timelines_of(entries_in([*lines, line(9, "installed", "m1", Event.END)]))
    assert found == [
        Timeline("m0", [Span("media", 0, 7)], ["BmcRefusedError: no"]),
        Timeline("m1", [Span("media", 8, 9)]),
    ]


def test_a_run_that_was_killed_ends_with_its_last_line() -> None:
    lines = [line(0, "media", "m0"), line(4, "media", "m1"), '{"time": "2026-1']
    assert timelines_of(entries_in(lines)) == [
        Timeline("m0", [Span("media", 0, 4)]),
        Timeline("m1", [Span("media", 4, 4)]),
    ]


def test_requests_and_probes_are_no_steps() -> None:
    request = logging.makeLogRecord(
        {"name": "wires.redfish.client.adapter", "msg": "GET /redfish/v1", "machine": "m0"}
    )
    assert timelines_of(entries_in([JsonLine().format(request)])) == []


def test_a_step_that_comes_twice_has_the_sum_of_its_seconds() -> None:
    row = Timeline("m0", [Span("media", 0, 2), Span("starting the installer", 2, 3), Span("media", 3, 7)])
    assert row.seconds == {"media": 6, "starting the installer": 1}


def test_a_line_that_is_nested_too_deeply_is_a_torn_one() -> None:
    (entry,) = entries_in(["[" * 100_000])
    assert entry.event == Event.TORN
