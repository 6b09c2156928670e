"""`okd-baremetal review` of a saved preview; tests/e2e/test_review.py has it make one."""

import hashlib
import json
from datetime import UTC, datetime
from pathlib import Path

import pytest

from cluster.inventory.model import DiscoveredServer, Inventory
from review.preview import read_preview
from review.write_plan import WritePlan
from testing import plans
from testing.command_line import run
from testing.preview_steps import file, preview, step_of

SAVED = preview(file("compute", "/etc/a", "1\n", "2\n"))
HEAD = "<!-- okd-baremetal review prod -->\n## What `pulumi up` will do to the stack prod\n\n"


def test_a_saved_preview_is_reviewed_from_a_file_and_from_stdin(tmp_path: Path) -> None:
    saved = tmp_path / "preview.json"
    saved.write_text(SAVED)
    by_file, by_stdin = (
        run("review", "prod", "--preview", saved),
        run("review", "prod", "--preview", "-", stdin=SAVED),
    )
    assert (by_file.returncode, by_file.stderr) == (0, "")
    assert by_file.stdout.startswith(
        f"{HEAD}- No machine is changed. Servers that are installed later get 1 file as below.\n"
    )
    assert by_stdin.stdout == by_file.stdout


def test_a_preview_without_changes_says_so_with_exit_code_0() -> None:
    done = run("review", "prod", "--preview", "-", stdin=preview())
    assert (done.returncode, done.stdout) == (0, f"{HEAD}- Nothing changes.\n{END}")


def test_html_is_one_page() -> None:
    done = run("review", "prod", "--html", "--preview", "-", stdin=SAVED)
    assert done.returncode == 0
    assert done.stdout.startswith("<!doctype html>\n")
    assert done.stdout.endswith("</html>\n")


def test_the_notices_of_plan_are_in_the_review(tmp_path: Path) -> None:
    folder = tmp_path / "stacks" / "prod"
    folder.mkdir(parents=True)
    config = plans.install_config()
    (folder / "install-config.yaml").write_text(plans.written(config))
    host = plans.intent().servers[0]
    server = DiscoveredServer(bmc=f"{host.bmc.url.base}{host.bmc.url.system_id}", memory_mib=4096)
    inventory = Inventory(dated=datetime(2026, 11, 27, tzinfo=UTC), servers=(server,))
    (folder / "inventory.json").write_text(inventory.model_dump_json())
    done = run("review", "prod", "--preview", "-", stdin=preview(), folder=tmp_path)
    seen = "by the inventory of 2026-11-27: 4 GB of memory, and a server of its role wants 16"
    assert f"- Nothing changes.\n- notice: {host.name}: {seen}. Fix: " in done.stdout
    assert done.stdout.endswith(END)


def test_the_write_plan_is_the_file_whose_sha256_is_the_digest(tmp_path: Path) -> None:
    plan = tmp_path / "plan.json"
    done = run("review", "prod", "--write-plan", plan, "--preview", "-", stdin=SAVED)
    assert done.stdout.endswith(f"\nDigest of this preview: `{hashlib.sha256(plan.read_bytes()).hexdigest()}`\n")
    assert json.loads(plan.read_text())["writes"] == {}


def test_a_write_plan_that_cannot_be_written_is_one_line(tmp_path: Path) -> None:
    done = run("review", "prod", "--write-plan", tmp_path / "none" / "a", "--preview", "-", stdin=SAVED)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == (
        f"{tmp_path}/none/a: cannot be written (No such file or directory). "
        "Fix: name a file in a folder that is writable\n"
    )


def test_what_is_no_preview_is_refused() -> None:
    done = run("review", "prod", "--preview", "-", stdin="")
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith("standard input: no output of `pulumi preview --json`. Fix: ")


REFUSED = preview(
    file("compute", "/etc/a", "1\n", "2\n"),
    diagnostics=[
        {"severity": "error", "message": "error: config: media: missing\nconfig: `phase`: <x> *y*. Fix: write _z_\n"}
    ],
)


@pytest.mark.parametrize("options", [(), ("--html",), ("--policy",)])
def test_the_review_of_a_refused_change_says_only_why(options: tuple[str, ...]) -> None:
    done = run("review", "prod", "--preview", "-", *options, stdin=REFUSED)
    lines = ("config: media: missing", "config: `phase`: <x> *y*. Fix: write _z_")
    assert (done.returncode, done.stderr) == (2, "".join(f"standard input: {line}\n" for line in lines))
    if "--html" in options:
        assert '<li class="grave"><code>pulumi up</code> would be refused: config: media: missing</li>' in done.stdout
    else:
        assert done.stdout == (
            f"{HEAD}- **`pulumi up` would be refused: config: media: missing**\n"
            "- **`pulumi up` would be refused: config: `phase`: \\<x\\> \\*y\\*. Fix: write \\_z\\_**\n"
            "\nNo digest: the preview failed.\n"
        )


@pytest.mark.parametrize(
    ("kind", "inputs"),
    [
        *((kind, {"role": "compute"}) for kind in ("RenderedAsset", "BmcHost", "BootstrapVm", "VipHandoff")),
        ("HostProvisioning", {"role": "compute"}),
        ("HostProvisioning", {"role": "compute", "hosts": ["m0"]}),
    ],
)
def test_a_preview_of_another_release_is_refused(kind: str, inputs: dict[str, object]) -> None:
    done = run("review", "prod", "--preview", "-", stdin=preview(step_of("create", kind, "okd-x", None, inputs)))
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == (
        "standard input: its resources are not those of this release. Fix: preview and review with one release\n"
    )


def test_a_missing_file_is_refused() -> None:
    done = run("review", "prod", "--preview", "none.json")
    assert (done.returncode, done.stderr) == (2, "none.json: cannot be read: No such file or directory\n")


END = f"\nDigest of this preview: `{WritePlan.of(read_preview(preview(), 'a test')).digest}`\n"


def engine(folder: Path, script: str) -> str:
    """Return a PATH that has a `pulumi` of this script."""
    pulumi = folder / "pulumi"
    pulumi.write_text(f"#!/bin/sh\n{script}\n")
    pulumi.chmod(0o755)
    return f"{folder}:/usr/bin:/bin"


def test_a_preview_that_cannot_begin_is_refused_with_pulumis_lines(tmp_path: Path) -> None:
    path = engine(tmp_path, "echo 'error: no stack named prod' >&2; exit 255")
    done = run("review", "prod", PATH=path)
    assert (done.returncode, done.stdout, done.stderr) == (2, "", "pulumi preview: error: no stack named prod\n")


def test_a_preview_that_fails_silently_is_refused_with_its_exit_code(tmp_path: Path) -> None:
    done = run("review", "prod", PATH=engine(tmp_path, 'echo "{\\"steps\\": []}"; exit 9'))
    assert (done.returncode, done.stdout, done.stderr) == (2, "", "pulumi preview: exit code 9\n")


def test_the_engine_previews_the_stack_that_is_named(tmp_path: Path) -> None:
    done = run("review", "prod", PATH=engine(tmp_path, f'echo "$@" >{tmp_path}/words; echo "{{\\"steps\\": []}}"'))
    assert done.stdout == f"{HEAD}- Nothing changes.\n{END}"
    assert (tmp_path / "words").read_text() == "preview --json --stack prod --non-interactive\n"


WHOAMI = 'if [ "$1" = whoami ]; then echo "{\\"url\\": \\"$BACKEND\\"}"; else echo "{\\"steps\\": []}"; fi'


@pytest.mark.parametrize(
    ("backend", "code", "line"),
    [
        ("s3://bucket", 0, "- passed: backend\n"),
        ("file:///root", 4, "  - the backend is `file:///root`\n"),
    ],
)
def test_a_broken_policy_has_an_exit_code_of_its_own(tmp_path: Path, backend: str, code: int, line: str) -> None:
    done = run("review", "prod", "--policy", "backend", PATH=engine(tmp_path, WHOAMI), BACKEND=backend)
    assert (done.returncode, done.stderr) == (code, "")
    assert done.stdout.startswith(f"{HEAD}- Nothing changes.\n\n### Policies\n\n- ")
    assert done.stdout.endswith(line + END)


def test_a_backend_that_pulumi_does_not_name_is_refused(tmp_path: Path) -> None:
    script = 'if [ "$1" = whoami ]; then echo "error: no login" >&2; exit 255; else echo "{\\"steps\\": []}"; fi'
    done = run("review", "prod", "--policy", PATH=engine(tmp_path, script))
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith("pulumi whoami failed: error: no login. Fix: ")


def test_an_unknown_policy_is_a_wrong_command() -> None:
    assert run("review", "prod", "--preview", "-", "--policy", "images", stdin=preview()).returncode == 2


@pytest.mark.parametrize(
    "text",
    [
        *("[]", '"x"', '{"steps": [7]}', '{"steps": [{}]}', '{"steps": [{"op": [], "urn": "a::b"}]}'),
        *('{"steps": [], "config": 7}', '{"steps": [{"op": "create", "urn": 7}]}', '{"diagnostics": 7, "steps": {}}'),
        *('{"diagnostics": [{"severity": "error", "message": 7}], "steps": null}', "[" * 50_000, '{"steps":' * 5000),
    ],
    ids=lambda text: text[:40],
)
def test_a_malformed_preview_is_refused_in_a_line(text: str) -> None:
    """S17 of issue 43."""
    done = run("review", "prod", "--preview", "-", stdin=text)
    assert (done.returncode, done.stdout, done.stderr.count("\n")) == (2, "", 1)
    assert done.stderr.startswith("standard input: no output of `pulumi preview --json`. Fix: ")
