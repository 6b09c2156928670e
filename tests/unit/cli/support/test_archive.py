"""The archive of `gather`: what its index says of a part that fails."""

from pathlib import Path

import pytest

from base.errors import ConfigError
from cli.support.archive import Bundle


@pytest.mark.parametrize(
    ("error", "said"),
    [
        (PermissionError(13, "Permission denied"), "Permission denied"),
        (ConnectionResetError(), "ConnectionResetError"),
        (ValueError("hunter2"), "internal error: ValueError: test_archive.py:23"),
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


def test_a_file_that_appeared_while_it_was_gathered_is_not_replaced(tmp_path: Path) -> None:
    (tmp_path / "dangling.tar.gz").symlink_to(tmp_path / "nowhere")
    with Bundle("a cluster") as bundle, pytest.raises(ConfigError, match="File exists"):
        bundle.pack(tmp_path / "dangling.tar.gz")
    assert (tmp_path / "dangling.tar.gz").is_symlink()
