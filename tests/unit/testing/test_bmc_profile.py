"""The interoperability profile of BMCs follows from the code, and its page from the profile."""

from testing.bmc_profile import DOCUMENT, profile, text
from testing.checkout import ROOT

PAGE = (ROOT / "docs" / "how-to" / "buy-servers.md").read_text()


def test_the_profile_is_that_of_the_code() -> None:
    assert DOCUMENT.read_text() == text(), "`make accept`, then review"


def test_the_page_for_vendors_explains_each_use_case() -> None:
    cases = [case for needs in profile()["Resources"].values() for case in needs.get("UseCases", ())]
    assert [case["UseCaseTitle"] for case in cases if case["UseCaseTitle"] not in PAGE] == []


def test_the_page_for_vendors_names_the_locked_validator() -> None:
    locked = (ROOT / "requirements-conformance.txt").read_text()
    (command,) = (line.strip() for line in PAGE.splitlines() if "pip install" in line)
    assert f"\n{command.removeprefix('pip install ')} " in locked
