"""From when a certificate is a warning."""

from datetime import UTC, datetime, timedelta

import pytest

from wires.certificates import Life

NOW = datetime(2026, 11, 27, 8, 0, tzinfo=UTC)


def life(days: float, left: float) -> Life:
    """Return that of a certificate with so many days, of which some are left."""
    ends = NOW + timedelta(days=left)
    return Life(ends - timedelta(days=days), ends)


@pytest.mark.parametrize(
    ("days", "left", "warning"),
    [
        pytest.param(3650, 31, None, id="years-31-days-before"),
        pytest.param(3650, 30, "expires on 2026-12-27 08:00 UTC, in 30 days", id="years-30-days-before"),
        pytest.param(3650, 1.5, "expires on 2026-11-28 20:00 UTC, in 36 h", id="years-the-last-days"),
        pytest.param(3650, 0, "expired on 2026-11-27 08:00 UTC", id="years-over"),
        pytest.param(30, 29, None, id="a-kubelet-s-of-30-days-new"),
        pytest.param(30, 3.1, None, id="a-kubelet-s-that-may-be-renewed-still"),
        pytest.param(30, 3, "expires on 2026-11-30 08:00 UTC, in 3 days", id="a-kubelet-s-that-nobody-renewed"),
        pytest.param(90, 10, None, id="one-of-90-days-that-a-program-renews"),
        pytest.param(1, 0.2, None, id="a-payload-s-of-a-day"),
        pytest.param(1, 0.1, "expires on 2026-11-27 10:24 UTC, in 2 h", id="a-payload-s-in-its-last-hours"),
        pytest.param(1, -9, "expired on 2026-11-18 08:00 UTC", id="a-payload-s-over"),
    ],
)
def test_a_warning_comes_30_days_ahead_or_once_no_program_renews(
    days: float, left: float, warning: str | None
) -> None:
    assert life(days, left).warning(NOW) == warning
    assert life(days, left).is_over(NOW) is (left <= 0)
