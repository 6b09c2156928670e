"""The archive of `gather`: what its index says of a part that fails."""

import pytest

from cli.support.archive import Bundle


@pytest.mark.parametrize(
    ("error", "said"),
    [
        (PermissionError(13, "Permission denied"), "Permission denied"),
        (ConnectionResetError(), "ConnectionResetError"),
        (ValueError("hunter2"), "ValueError at test_archive.py:20"),
    ],
)
def test_a_part_that_fails_is_said_without_an_input_and_the_others_follow(
    error: Exception, said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    def fails(_: Bundle) -> str:
        raise error

    with Bundle("a cluster") as bundle:
        bundle.collect("logs", fails)
        bundle.collect("versions", lambda _: "there")
    assert capsys.readouterr().err == f"logs: not there: {said}\nversions: there\n"
