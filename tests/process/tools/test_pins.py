"""Attack S12: what a release is built from, and what runs beside it, is pinned."""

import re
from pathlib import Path

import pytest
import yaml

from testing.checkout import ROOT
from testing.git import git

USES = re.compile(r"^\s*(?:-\s*)?uses:\s*(\S+)", re.MULTILINE)
LOCAL, PINNED = re.compile(r"\./"), re.compile(r"[\w.-]+/[\w./-]+@[0-9a-f]{40}")
FETCHED_AND_RUN = re.compile(
    r"\b(?:curl|wget)\b[^\n|;&]*\|\s*(?:sudo\s+)?(?:env\s+\S+\s+)*(?:ba|da|z|)sh\b"
    r"|\b(?:ba|da|z|)sh\s+(?:-c\s+)?[\"']?(?:<\(|\$\()\s*(?:curl|wget)\b"
    r"|(\w+)=\$\(\s*(?:curl|wget)\b[\s\S]*\bsh -c \"\$\1\""
)
MENDED = {
    "github.com/go-git/go-git/v5": (5, 13, 0),  # CVE-2023-49569, CVE-2025-21613
    "github.com/go-git/go-git/v6": (6, 0, 0, "alpha.5"),  # CVE-2026-71557
    "golang.org/x/crypto": (0, 31, 0),  # CVE-2024-45337
    "golang.org/x/net": (0, 33, 0),  # CVE-2024-45338
    "google.golang.org/grpc": (1, 58, 3),  # CVE-2023-44487
}
"""By module: the first version without the holes that scanners name."""
TRACKED = [ROOT / name for name in git(ROOT, "ls-files").splitlines()]
WORKFLOWS = [path for path in TRACKED if path.parent.name == "workflows" and path.suffix in (".yml", ".yaml")]
SCRIPTS = [
    path
    for path in TRACKED
    if path.suffix in (".sh", ".yml", ".yaml", ".j2", "") and path.is_file() and "docs" not in path.parts
]


def unpinned(text: str) -> list[str]:
    """Return the actions of a workflow that another commit may stand for tomorrow."""
    return [action for action in USES.findall(text) if not LOCAL.match(action) and not PINNED.fullmatch(action)]


def test_all_workflows_are_found() -> None:
    names = {str(path.relative_to(ROOT)) for path in WORKFLOWS}
    assert names >= {".github/workflows/checks.yml", ".github/workflows/release.yml"}
    assert "cli/start/site/.github/workflows/review.yml" in names
    assert all(USES.findall(path.read_text()) for path in WORKFLOWS)


@pytest.mark.parametrize("workflow", WORKFLOWS, ids=lambda path: path.stem)
def test_each_action_is_pinned_by_its_commit(workflow: Path) -> None:
    assert unpinned(workflow.read_text()) == []


@pytest.mark.parametrize(
    ("action", "is_pinned"),
    [
        ("./.github/actions/setup", True),
        ("actions/checkout@11d5960a326750d5838078e36cf38b85af677262 # v4.4.0", True),
        ("us/it/.github/workflows/x.yml@11d5960a326750d5838078e36cf38b85af677262", True),
        ("actions/checkout@v4", False),
        ("dtolnay/rust-toolchain@stable", False),
        ("actions/checkout@11d5960", False),
        ("actions/checkout@11d5960a326750d5838078e36cf38b85af677262x", False),
        ("actions/checkout", False),
        ("docker://debian:12", False),
    ],
)
def test_an_action_by_a_name_that_moves_is_noticed(action: str, *, is_pinned: bool) -> None:
    for form in (f"      - uses: {action}\n", f"      - name: x\n        uses: {action}\n", f"    uses: {action}\n"):
        assert (unpinned(form) == []) is is_pinned


def test_no_script_is_fetched_and_run() -> None:
    assert len(SCRIPTS) > 50
    assert [str(path) for path in SCRIPTS if FETCHED_AND_RUN.search(path.read_text(errors="replace"))] == []


@pytest.mark.parametrize(
    "script",
    [
        "curl -fsSL https://example.com/install.sh | sh",
        "wget -qO- https://example.com/x | sudo bash -s -- --yes",
        'bash -c "$(curl -fsSL https://example.com/x)"',
        "bash <(curl -s https://example.com/x)",
        'script=$(curl --fail https://example.com/install.sh) || exit 1\ntimeout 600 sh -c "$script" install.sh',
    ],
)
def test_a_script_that_is_fetched_and_run_is_noticed(script: str) -> None:
    assert FETCHED_AND_RUN.search(script)


def version_of(text: str) -> tuple[int, int, int, str]:
    """Return a version of a module, in the order of versions: a final one is after its previews."""
    numbers, _, preview = text.removeprefix("v").partition("-")
    major, minor, patch = (int(number) for number in numbers.split("."))
    return major, minor, patch, preview or "~"


@pytest.mark.parametrize("name", ["pulumi", "pulumi-language-python"])
def test_no_module_of_a_release_has_a_hole_that_is_mended(name: str) -> None:
    text = (ROOT / "tools" / "go" / name / "go.mod").read_text()
    modules = dict(re.findall(r"^\s*(\S+) (v\S+)", text, re.MULTILINE))
    old = {
        module: modules[module]
        for module, mended in MENDED.items()
        if module in modules and version_of(modules[module]) < (mended if len(mended) == 4 else (*mended, "~"))
    }
    assert old == {}
    assert len(MENDED.keys() & modules.keys()) == len(MENDED) - 1, "one of the two go-gits, and all others"


def test_a_job_that_runs_code_of_others_may_write_nothing() -> None:
    """Each build runs scripts of crates and packages; only the other jobs have the right to publish."""
    for path in WORKFLOWS:
        workflow = yaml.safe_load(path.read_text())
        for name, job in workflow["jobs"].items():
            rights = {**workflow["permissions"], **job.get("permissions", {})}
            builds = any("make " in step.get("run", "") for step in job["steps"])
            writes = {right for right, value in rights.items() if value == "write"} - {"pull-requests"}
            assert not (builds and writes), f"{path}: {name}"
