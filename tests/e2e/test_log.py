"""The log of a real run that fails. test_hosts.py has those of runs that install, do nothing, or are killed."""

import json

from testing.fakes.emulator import Emulator
from testing.fakes.web_hook import web_hook
from testing.project import NAMES, Project, eventually, texts

AT_ONCE = ("--yes", "--skip-preview")


def test_a_failed_run_names_its_log_draws_a_report_and_sends_a_notice(project: Project, bmc: Emulator) -> None:
    """No host is written to before every consent matches."""
    first = len(bmc.writes)
    project.site["hosts"]["okd-master-1"]["consent"] = "7b0f7a30-95ad-4c3b-9a1e-0e4d2c8f1a55"
    with web_hook() as hook:
        project.pulumi("config", "set", "--secret", "okd-baremetal:notify_url", hook.url)
        text = project.pulumi("up", *AT_ONCE, fails=True)
        assert f"pulumi config set --path 'consent.okd-master-1' {NAMES['okd-master-1']}" in text
        assert 'File "' not in text
        assert not bmc.guest.installs
        assert not [line for line in bmc.writes[first:] if NAMES["okd-master-1"] in line]
        (file,) = (project.folder / "program" / "log" / "test").iterdir()
        assert f"log: log/test/{file.name}\n" in text
        eventually(lambda: project.noticed() != [])
    assert hook.notices, project.noticed()
    (notice,) = hook.notices
    assert (notice["command"], notice["result"], notice["failed"]) == ("up", "failed", ["okd-master-1"])
    page = project.report()
    assert "Errors: okd-master-1." in page
    (lines,) = project.logs()
    errors = texts(lines, "okd-master-1", "error")
    assert "consent names 7b0f7a30-95ad-4c3b-9a1e-0e4d2c8f1a55" in " ".join(errors)
    assert project.noticed() == [f"sent: {notice['text']}"]
    assert hook.url not in json.dumps(lines) + page
