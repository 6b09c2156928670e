"""S20: Pulumi's own debugging shows secrets, and the program says so."""

from unittest import mock

import pulumi
import pytest

from tests.program.graph import run


@pytest.mark.parametrize(("file", "warnings"), [("", 0), ("calls.json\x1b[2J", 1)], ids=["off", "on"])
def test_a_run_that_writes_secrets_warns(monkeypatch: pytest.MonkeyPatch, file: str, warnings: int) -> None:
    monkeypatch.setenv("PULUMI_DEBUG_GRPC", file)
    with mock.patch.object(pulumi.log, "warn", autospec=True) as warn:
        run()
    texts = [call.args[0] for call in warn.call_args_list if "PULUMI_DEBUG_GRPC" in call.args[0]]
    assert len(texts) == warnings
    assert all(text.isprintable() and "passwords" in text for text in texts)
