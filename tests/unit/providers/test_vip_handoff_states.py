"""The table of the handoff's states: it is the one in the document, and every state is reached and left."""

from collections.abc import Callable
from typing import Any

from providers.vip_handoff.states import ENDS, TABLE, State
from tests.documents import table

DOCUMENT = "explanation/handoff.md"


def told(function: Callable[..., Any] | None) -> str:
    return (function.__doc__ or "").strip() if function else "-"


def time(value: float | str) -> str:
    return f"`{value}`" if isinstance(value, str) else f"{value:g} s" if value else "-"


def test_the_document_shows_the_table() -> None:
    drawn = [
        {
            "state": state.value,
            "does": told(row.does),
            "checks": told(row.check),
            "steady": time(row.steady),
            "deadline": time(row.within),
            "success": row.success + (f"; {row.moved} if the control plane holds the VIPs" if row.moved else ""),
            "failure": row.failure.value,
            "too late": row.late.value if row.check else "-",
            "measured": "yes" if row.measured else "no",
        }
        for state, row in TABLE.items()
    ]
    assert table(DOCUMENT, "state") == drawn


def test_the_document_shows_the_ends() -> None:
    assert table(DOCUMENT, "ends") == [{"ends": end.value, "what holds then": text} for end, text in ENDS.items()]


def test_each_state_has_a_row_or_is_an_end() -> None:
    assert set(TABLE) | set(ENDS) == set(State)
    assert not set(TABLE) & set(ENDS)


def test_no_row_leads_to_itself_and_each_end_is_reached() -> None:
    leads = {state: {row.success, row.moved, row.failure, row.late} - {None} for state, row in TABLE.items()}
    assert not [state for state, nexts in leads.items() if state in nexts]
    assert set(ENDS) <= set().union(*leads.values())
