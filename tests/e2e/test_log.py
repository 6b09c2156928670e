"""The log of real runs: what is in it, and what is not. test_hosts.py has that of a run that is killed."""

import base64
import json
import re
from typing import Any

from testing.fakes.emulator import PASSWORD, USER, Emulator
from testing.fakes.web_hook import web_hook
from testing.project import NAMES, Project, eventually

AT_ONCE = ("--yes", "--skip-preview")
INSTALLED = (
    "media",
    "starting the installer",
    "installing from ISO",
    "withdrawing the boot ISO",
    "booting from disk",
    "installed",
)


def texts(lines: list[dict[str, Any]], machine: str, *events: str) -> list[str]:
    return [line["text"] for line in lines if line.get("machine") == machine and line["event"] in events]


def test_a_run_logs_each_server_without_secrets_and_no_run_without_work(project: Project, bmc: Emulator) -> None:
    project.pulumi("up", *AT_ONCE)
    isos = {each["iso_sha256"] for each in project.outputs("control-plane")["installed"].values()}
    (up,) = project.logs()
    for name in NAMES:
        steps = texts(up, name, "step", "end")
        assert [word for word in INSTALLED if any(step.startswith(word) for step in steps)] == [*INSTALLED]
        requests = texts(up, name, "redfish")
        inserted = re.compile(r"\S+ POST \S+/VirtualMedia.InsertMedia: HTTP 20\d, \d")
        assert len([*filter(inserted.match, requests)]) == 1
        resources = {line["resource"] for line in up if line.get("machine") == name}
        assert resources == {"Machines::machines", f"BmcHost::{name}", "HostProvisioning::control-plane"}

    project.pulumi("up", *AT_ONCE, "--expect-no-changes")
    project.site["hosts"]["okd-master-0"]["consent"] = ""
    asked = len(bmc.requests)
    refused = project.pulumi("up", *AT_ONCE, fails=True)  # its check refuses it, before any work
    assert "pulumi config set --path 'consent.okd-master-0' <UUID>" in refused
    assert bmc.requests[asked:] == []
    assert len(project.logs()) == 1
    project.pulumi("destroy", *AT_ONCE)
    assert len(project.logs()) == 2
    eventually(lambda: all(part in project.report() for part in ("delete", *NAMES)))
    everything = json.dumps(project.logs(), ensure_ascii=False) + project.report()
    basic = base64.b64encode(f"{USER}:{PASSWORD}".encode()).decode()
    canaries = (PASSWORD, basic, "Authorization", "content-of-ours", "content-of-a-keyfile", *isos)
    assert len(isos) == len(NAMES)
    assert [canary for canary in canaries if canary in everything] == []


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
    assert "consent names 7b0f7a30-95ad-4c3b-9a1e-0e4d2c8f1a55" in " ".join(texts(lines, "okd-master-1", "error"))
    assert project.noticed() == [f"sent: {notice['text']}"]
    assert hook.url not in json.dumps(lines) + page
