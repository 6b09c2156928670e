"""A test that skips for a reason that is not allowed fails, and one that is allowed is in the summary."""

import pytest

from testing.skips import NO_ROOT

ALLOWED = f"def test_one():\n    pytest.skip({NO_ROOT!r})\n"
IN_A_TEST = "def test_one():\n    pytest.skip('coredns is not built')\n"
BY_A_MARK = "@pytest.mark.skipif(True, reason='coredns is not built')\ndef test_one():\n    pass\n"
OF_A_FILE = "pytest.skip('coredns is not built', allow_module_level=True)\n"
FIX = "*test_it.py:*: Skipped: coredns is not built, which is not a reason in testing/skips.py. Fix: *"


def run(pytester: pytest.Pytester, text: str) -> pytest.RunResult:
    pytester.makepyfile(test_it=f"import pytest\n\n{text}")
    return pytester.runpytest_inprocess("-p", "testing.skips", "-rs")


def test_an_allowed_skip_is_in_the_summary(pytester: pytest.Pytester) -> None:
    done = run(pytester, ALLOWED)
    assert (done.ret, done.parseoutcomes()) == (0, {"skipped": 1})
    done.stdout.fnmatch_lines([f"SKIPPED [[]1[]] test_it.py:4: {NO_ROOT}"])


@pytest.mark.parametrize(
    ("text", "outcome"),
    [
        pytest.param(IN_A_TEST, {"failed": 1}, id="in-a-test"),
        pytest.param(BY_A_MARK, {"errors": 1}, id="by-a-mark"),
        pytest.param(OF_A_FILE, {"errors": 1}, id="of-a-file"),
    ],
)
def test_any_other_skip_fails(pytester: pytest.Pytester, text: str, outcome: dict[str, int]) -> None:
    done = run(pytester, text)
    assert (done.ret != 0, done.parseoutcomes()) == (True, outcome)
    done.stdout.fnmatch_lines([FIX])
