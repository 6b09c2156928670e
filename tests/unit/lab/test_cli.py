import pytest

from lab.__main__ import main


@pytest.mark.parametrize(
    "arguments",
    [[], ["sideways"], ["exec"], ["payload"], ["payload", "--out", "x", "--retire-after-s", "soon"]],
    ids=["none", "unknown", "exec-nothing", "no-out", "no-seconds"],
)
def test_wrong_usage_exits_with_2(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        main(arguments)
    assert ended.value.code == 2
    assert "error:" in capsys.readouterr().err
