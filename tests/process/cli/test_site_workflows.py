"""The workflows that review pull requests: valid, and run here with stand-ins of the services."""

import json
import os
import re
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import yaml

from testing import plans
from testing.checkout import ROOT
from testing.preview_steps import file, preview
from testing.workflows import assert_linted, bash

SITE = ROOT / "cli" / "start" / "site"
GITHUB, GITLAB = SITE / ".github" / "workflows" / "review.yml", SITE / ".gitlab-ci.yml"
MARK = "<!-- okd-baremetal review prod -->"
CHANGED = preview(file("compute", "/etc/a", "1\n", "2\n"))
FAILED = preview(diagnostics=[{"severity": "error", "message": "error: config: media: missing\n"}])
TOKEN = "token-of-the-site"

STANDINS = {
    "sudo": "",
    "make": "",
    "okd-baremetal": f'PYTHONPATH={ROOT} exec {sys.executable} -P -m cli "$@"',
    "pulumi": 'cat "$SITE/preview"; exit "$(cat "$SITE/code")"',
    # The words of each call; a list is filtered as the service's client would.
    "gh": """
printf '%s\\n' "$*" >>"$SITE/calls"
while [ $# -gt 0 ]; do
    case $1 in --jq) jq -r "$2" "$SITE/comments" ;; body=@*) cp "${1#body=@}" "$SITE/body" ;; esac
    shift
done""",
    "curl": """
cat >>"$SITE/config"
printf '%s\\n' "$*" >>"$SITE/calls"
case $* in *per_page*) cat "$SITE/comments"; exit ;; esac
for word; do case $word in body@*) cp "${word#body@}" "$SITE/body" ;; esac; done""",
}


@dataclass(frozen=True)
class Site:
    """A site's own repository, on a CI machine."""

    folder: Path

    def run(self, script: str, **environment: str) -> subprocess.CompletedProcess[str]:
        env = {"PATH": f"{self.folder / 'bin'}:{os.environ['PATH']}", "SITE": str(self.folder), **environment}
        return subprocess.run(
            bash(script),
            cwd=self.folder / "repository",
            env=env,
            capture_output=True,
            text=True,
            check=False,
        )

    def github(self) -> int:
        """Run the job's steps in order, none left out; return the highest exit code."""
        (job,) = yaml.safe_load(GITHUB.read_text())["jobs"].values()
        codes = []
        for step in job["steps"]:
            own = {name: expanded(text) for name, text in {**job["env"], **step.get("env", {})}.items()}
            if "run" in step:
                codes.append(self.run(step["run"], GITHUB_PATH=str(self.folder / "path"), **own).returncode)
        return max(codes)

    def gitlab(self) -> int:
        """Run the job's script as one, in the order of GitLab."""
        job = yaml.safe_load(GITLAB.read_text())["review"]
        given = {"CI_API_V4_URL": "https://git.test/api/v4", "CI_PROJECT_ID": "7", "CI_MERGE_REQUEST_IID": "12"}
        script = "\n".join([*job["before_script"], *job["script"]])
        return self.run(script, STACK="prod", GITLAB_TOKEN=TOKEN, **given).returncode

    def read(self, name: str) -> str:
        return (self.folder / name).read_text()


def expanded(text: str) -> str:
    """Return a value with the expressions that the workflow uses."""
    values = {"matrix.stack": "prod", "github.repository": "us/site", "github.event.number": "12"}
    return re.sub(r"\$\{\{ (\S+) \}\}", lambda found: values.get(found[1], "x"), text)


@pytest.fixture
def site(tmp_path: Path) -> Site:
    repository, programs = tmp_path / "repository", tmp_path / "bin"
    (repository / "stacks" / "prod").mkdir(parents=True)
    config = plans.install_config()
    config["pullSecret"], logins = "", {}
    for host in config["platform"]["baremetal"]["hosts"]:
        host["bmc"].update(username="", password="")
        logins[host["name"]] = {"username": "admin", "password": {"secure": "cipher"}}
    (repository / "stacks" / "prod" / "install-config.yaml").write_text(plans.written(config))
    options = {"okd-baremetal:pull_secret": {"secure": "cipher"}, "okd-baremetal:bmc_credentials": logins}
    (repository / "stacks" / "Pulumi.prod.yaml").write_text(yaml.safe_dump({"config": options}))
    programs.mkdir()
    for name, script in STANDINS.items():
        (programs / name).write_text(f"#!/bin/sh\n{script}\n")
        (programs / name).chmod(0o755)
    for name, content in {"preview": CHANGED, "code": "0", "comments": "[]"}.items():
        (tmp_path / name).write_text(content)
    return Site(tmp_path)


def comment(number: int, body: str, login: str = "github-actions[bot]") -> dict[str, Any]:
    return {"id": number, "user": {"login": login}, "body": body}


OTHERS = [comment(1, "hello"), comment(2, f"see {MARK}"), comment(3, "<!-- okd-baremetal review prod2 -->\n")]


def test_actionlint_and_shellcheck_accept_the_workflow_of_github(tmp_path: Path) -> None:
    assert_linted(GITHUB, "$GITHUB_PATH", tmp_path)


def test_shellcheck_accepts_the_script_of_gitlab() -> None:
    job = yaml.safe_load(GITLAB.read_text())["review"]
    script = "\n".join(["#!/bin/sh", *job["before_script"], *job["script"]])
    shellcheck = Path(sys.executable).with_name("shellcheck")
    done = subprocess.run([shellcheck, "-"], input=script, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (0, "")


def test_github_comments_once_and_then_updates_that_comment(site: Site) -> None:
    (site.folder / "comments").write_text(json.dumps([*OTHERS, comment(4, f"{MARK}\nby hand", login="somebody")]))
    assert site.github() == 0
    assert (
        site.read("calls").splitlines()[-1] == "api --silent repos/us/site/issues/12/comments --field body=@review.md"
    )
    assert site.read("body").startswith(f"{MARK}\n## What `pulumi up` will do to the stack prod\n")

    (site.folder / "comments").write_text(json.dumps([*OTHERS, comment(9, site.read("body"))]))
    assert site.github() == 0
    assert site.read("calls").splitlines()[-1] == (
        "api --silent --method PATCH repos/us/site/issues/comments/9 --field body=@review.md"
    )
    assert (site.folder / "repository" / "review.html").read_text().startswith("<!doctype html>")


def test_gitlab_comments_once_and_then_updates_that_comment(site: Site) -> None:
    notes = "https://git.test/api/v4/projects/7/merge_requests/12/notes"
    quiet = "--config - --fail --silent --show-error --output /dev/null"
    (site.folder / "comments").write_text(json.dumps(OTHERS))
    assert site.gitlab() == 0
    assert site.read("calls").splitlines()[-1] == f"{quiet} --data-urlencode body@review.md {notes}"
    assert site.read("body").startswith(f"{MARK}\n## What `pulumi up` will do to the stack prod\n")
    assert site.read("config") == f'header = "PRIVATE-TOKEN: {TOKEN}"\n' * 2
    assert TOKEN not in site.read("calls")

    (site.folder / "comments").write_text(json.dumps([*OTHERS, comment(9, site.read("body"))]))
    assert site.gitlab() == 0
    assert site.read("calls").splitlines()[-1] == f"{quiet} --request PUT --data-urlencode body@review.md {notes}/9"


@pytest.mark.parametrize("service", ["github", "gitlab"])
@pytest.mark.parametrize(
    ("printed", "body"),
    [
        (
            FAILED,
            "## What `pulumi up` will do to the stack prod\n\n- **`pulumi up` would be refused: config: media: ",
        ),
        (
            "",
            "## The preview of the stack prod failed\n```text\npreview.json: no output of `pulumi preview --json`.",
        ),
    ],
    ids=["refused", "not-begun"],
)
def test_a_preview_that_fails_replaces_the_comment_and_fails_the_job(
    site: Site, service: str, printed: str, body: str
) -> None:
    (site.folder / "preview").write_text(printed)
    (site.folder / "code").write_text("1")
    (site.folder / "comments").write_text(json.dumps([comment(9, f"{MARK}\nold")]))
    assert getattr(site, service)() == 2
    assert f"{'PATCH' if service == 'github' else 'PUT'} " in site.read("calls").splitlines()[-1]
    assert site.read("body").startswith(f"{MARK}\n{body}")


@pytest.mark.parametrize("service", ["github", "gitlab"])
def test_a_broken_policy_keeps_the_review_as_the_comment_and_fails_the_job(site: Site, service: str) -> None:
    review = f'case $1 in review) echo "{MARK}"; echo broken; exit 4 ;; esac'
    (site.folder / "bin" / "okd-baremetal").write_text(f"#!/bin/sh\n{review}\n")
    assert getattr(site, service)() == 4
    assert site.read("body") == f"{MARK}\nbroken\n"


@pytest.mark.parametrize("service", ["github", "gitlab"])
def test_a_job_that_cannot_comment_fails(site: Site, service: str) -> None:
    for name in ("gh", "curl"):
        (site.folder / "bin" / name).write_text("#!/bin/sh\nexit 4\n")
    assert getattr(site, service)() != 0


@pytest.mark.parametrize("service", ["github", "gitlab"])
@pytest.mark.parametrize("ticks", [0, 1, 2, 3, 4, 9])
def test_no_error_ends_the_fence_of_the_comment(site: Site, service: str, ticks: int) -> None:
    """S23: by CommonMark, a line of as many backquotes as the fence has, or more, ends it."""
    refused = f"{'`' * ticks}\n**APPROVED**\n{'`' * ticks} inline {'`' * ticks}\n"
    (site.folder / "refused").write_text(refused)
    (site.folder / "bin" / "okd-baremetal").write_text('#!/bin/sh\ncat "$SITE/refused" >&2\nexit 2\n')
    assert getattr(site, service)() == 2
    _, _, opening, *lines, closing = site.read("body").splitlines()
    assert (opening, "\n".join(lines)) == (f"{closing}text", refused.rstrip("\n"))
    assert set(closing) == {"`"}
    assert len(closing) >= 3
    assert [line for line in lines if line and not line.strip("`") and len(line) >= len(closing)] == []
