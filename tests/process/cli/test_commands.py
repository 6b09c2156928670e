"""`okd-baremetal …` as an operator, an editor or CI calls it."""

import json
import os
import pty
import re
import resource
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any
from unittest.mock import patch

import pytest
import yaml

from testing import plans
from testing.checkout import ROOT
from testing.command_line import COMMAND, run, run_process
from testing.install_configs import bare

GOOD = "stacks/rehearsal/install-config.yaml"


def written(path: Path, change: Callable[[dict[str, Any]], object]) -> Path:
    config = plans.install_config()
    change(config)
    path.write_text(yaml.safe_dump(config))
    return path


PROCESSES = {
    "new-site": ("stacks",),
    "discover": ("--logins", "none", "none"),
    "init": ("new", "--install-config", "none.yaml"),
    "move-secrets": ("none",),
    "payload": ("none",),
    "payload-config": (GOOD,),
    "check": (GOOD, "none.yaml"),
    "clashes": (GOOD, GOOD),
    "plan": (GOOD, "--stack", "rehearsal"),
    "schema": (),
    "vrid": ("okd", "A b"),
    "bmc-url": ("ipmi://h",),
    "bmc": ("check", "none.yaml"),
    "render": (GOOD, "--sample-addresses", "--out", "/nowhere/out"),
    "isos": ("none", "--out", "/nowhere/out"),
    "network-boot": ("none",),
    "rehearse": ("none",),
    "status": ("none",),
    "upgrade": ("none",),
    "review": ("prod", "--preview", "none.json"),
    "log": ("none",),
    "verify": ("none.jsonl", "none.json"),
    "report": ("none",),
    "snapshot": ("none",),
    "gather": ("none",),
    "chart": (),
    "fleet": ("check", "none.yaml"),
}
FLEET = {
    "check": ("none.yaml",),
    "start": ("none.yaml",),
    "status": (),
    "approve": ("north-a", "5eed"),
    "retry": ("north-a",),
    "cancel": ("--rollout", "all"),
    "worker": ("--site", "north"),
    "key": ("none/key",),
    "approver": ("jane", "none/key"),
}
"""What needs no server: a wrong input, or a missing key or folder."""


def test_every_command_is_started_as_a_process() -> None:
    assert re.findall(r"^    ([a-z-]+)\b", run("--help").stdout, re.M) == [*PROCESSES]
    assert re.findall(r"^    ([a-z-]+)\b", run("fleet", "--help").stdout, re.M) == [*FLEET]


@pytest.mark.parametrize("command", PROCESSES)
def test_a_process_does_what_the_function_does(command: str) -> None:
    here, process = run(command, *PROCESSES[command]), run_process(command, *PROCESSES[command])
    assert (process.returncode, process.stdout, process.stderr) == (here.returncode, here.stdout, here.stderr)


@pytest.mark.parametrize("command", FLEET)
def test_a_process_of_the_fleet_is_refused_as_the_function_is(command: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("FLEET_KEY_FILE", raising=False)
    here, process = run("fleet", command, *FLEET[command]), run_process("fleet", command, *FLEET[command])
    assert (process.returncode, process.stdout, process.stderr) == (here.returncode, here.stdout, here.stderr)
    assert (here.returncode, here.stdout) == (2, "")


def test_check_prints_verdicts_in_the_order_of_the_files(tmp_path: Path) -> None:
    bad = written(tmp_path / "bad.yaml", lambda c: (c.pop("baseDomain"), c["metadata"].update(name="a b")))
    done = run("check", bad, f"./{GOOD}")
    lines = done.stdout.splitlines()
    assert [line.partition(" ")[0] for line in lines] == [f"{bad}:", f"{bad}:", f"./{GOOD}:"]
    assert lines[0].startswith(f"{bad}: metadata.name: a b is not a DNS name. Fix: ")
    assert lines[1].startswith(f"{bad}: baseDomain: missing. Fix: ")
    assert lines[2] == f"./{GOOD}: ok"
    assert done.returncode == 2
    assert all(re.match(rf"\./{GOOD}: \S+: notice: in plain text", line) for line in done.stderr.splitlines())


def test_check_accepts_good_files() -> None:
    done = run("check", GOOD, GOOD)
    assert (done.returncode, done.stdout) == (0, f"{GOOD}: ok\n" * 2)


def test_check_prints_old_spellings_beside_its_verdict(tmp_path: Path) -> None:
    def change(config: dict[str, Any]) -> None:
        config["networking"]["machineCIDR"] = config["networking"].pop("machineNetwork")[0]["cidr"]

    file = written(tmp_path / "old.yaml", change)
    done = run("check", file)
    assert (done.returncode, done.stdout) == (0, f"{file}: ok\n")
    assert done.stderr == f"{file}: networking.machineCIDR: notice: an old spelling. Fix: write machineNetwork\n"


@pytest.mark.parametrize(
    ("content", "line"),
    [
        pytest.param(None, "cannot be read: No such file or directory", id="missing"),
        pytest.param(b"a: \xff", "byte 4 is not UTF-8. Fix: save it as UTF-8 text", id="no-utf-8"),
        pytest.param(
            b"a: [",
            "not valid YAML at line 2, column 1. Fix: correct quotes, brackets and indentation there",
            id="no-yaml",
        ),
        pytest.param(
            b"", "not a YAML mapping. Fix: write an install-config, which starts with apiVersion: v1", id="empty"
        ),
    ],
)
def test_a_file_that_cannot_be_read_does_not_hide_the_next(tmp_path: Path, content: bytes | None, line: str) -> None:
    file = tmp_path / "a.yaml"
    if content is not None:
        file.write_bytes(content)
    done = run("check", file, GOOD)
    assert (done.returncode, done.stdout) == (2, f"{file}: {line}\n{GOOD}: ok\n")


def test_a_directory_is_refused() -> None:
    done = run("check", "stacks")
    assert (done.returncode, done.stdout) == (2, "stacks: cannot be read: Is a directory\n")


def test_a_fault_is_one_line_whatever_the_value_holds(tmp_path: Path) -> None:
    def change(config: dict[str, Any]) -> None:
        config["platform"]["baremetal"]["hosts"][0]["bootMode"] = "\x1b[31m\nok"

    file = written(tmp_path / "a.yaml", change)
    done = run("check", file)
    assert len(done.stdout.splitlines()) == 1
    assert r"\x1b[31m\nok is unknown" in done.stdout


def test_plan_prints_json_without_secrets() -> None:
    done = run("plan", GOOD)
    plan = json.loads(done.stdout)
    assert (done.returncode, done.stderr) == (0, "")
    assert plan["cluster"]["name"] == "okd"
    assert plan["hosts"][0]["addresses"] is None
    assert "rehearsal-only" not in done.stdout


def test_plan_joins_the_stack() -> None:
    plan = json.loads(run("plan", "stacks/example/install-config.yaml", "--stack", "example").stdout)
    assert plan["hosts"][0]["addresses"] == ["192.0.2.21"]


@pytest.mark.parametrize(
    ("words", "line"),
    [
        pytest.param(("none.yaml",), "none.yaml: cannot be read: No such file or directory", id="no-file"),
        pytest.param(
            (GOOD, "--stack", "none"),
            "stacks/Pulumi.none.yaml: cannot be read: No such file or directory",
            id="no-stack",
        ),
    ],
)
def test_plan_refuses_on_stderr(words: tuple[str, ...], line: str) -> None:
    done = run("plan", *words)
    assert (done.returncode, done.stdout, done.stderr) == (2, "", f"{line}\n")


def test_schema_prints_all_schemas_in_one_object() -> None:
    done = run("schema")
    assert (done.returncode, done.stderr) == (0, "")
    assert json.loads(done.stdout).keys() == {"install_config", "options", "fleet"}


def test_payload_config_is_written_to_stdout() -> None:
    done = run("payload-config", GOOD)
    made = yaml.safe_load(done.stdout)
    assert (done.returncode, done.stderr) == (0, "")
    assert made["platform"] == {"none": {}}
    assert made["pullSecret"] == plans.install_config()["pullSecret"]


def test_payload_config_needs_no_logins_of_bmcs(tmp_path: Path) -> None:
    file = written(tmp_path / "a.yaml", lambda c: [each["bmc"].pop("password") for each in bare(c)["hosts"]])
    assert run("check", file).returncode == 2
    assert yaml.safe_load(run("payload-config", file).stdout) == yaml.safe_load(run("payload-config", GOOD).stdout)


def test_payload_config_refuses_what_check_refuses(tmp_path: Path) -> None:
    file = written(tmp_path / "a.yaml", lambda c: c.pop("baseDomain"))
    done = run("payload-config", file)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith(f"{file}: baseDomain: missing. Fix: ")


def test_payload_config_refuses_to_write_to_a_terminal() -> None:
    ours, theirs = pty.openpty()
    done = subprocess.run(
        [*COMMAND, "payload-config", GOOD],
        cwd=ROOT,
        stdout=theirs,
        stderr=subprocess.PIPE,
        text=True,
        check=False,
    )
    os.close(theirs)
    with os.fdopen(ours, "rb", buffering=0) as terminal, pytest.raises(OSError, match="Input/output error"):
        terminal.read(1)  # the other side of the terminal is closed, and no output is left
    assert done.returncode == 2
    assert f"okd-baremetal payload-config {GOOD} > DIR/install-config.yaml" in done.stderr


def test_vrid_prints_a_line_per_name_and_refuses_an_invalid_one() -> None:
    done = run("vrid", "cnf10", "A b", "cnf11")
    assert (done.returncode, done.stdout) == (2, "cnf10 147 2 79\ncnf11 228 147 1\n")
    assert done.stderr.startswith("A b is not a DNS name. Fix: ")
    assert run("vrid", "okd").returncode == 0


def test_bmc_url_prints_an_object_per_line() -> None:
    good = "idrac-virtualmedia://[2001:db8::1]:8443/redfish/v1/Systems/System.Embedded.1"
    done = run("bmc-url", good, "redfish-virtualmedia://admin:pa/ss@w0rd@10.0.0.1/redfish/v1/Systems/1", "ipmi://h")
    parsed, login, ipmi = (json.loads(line) for line in done.stdout.splitlines())
    assert parsed == {
        "url": good,
        "driver": "idrac",
        "scheme": "idrac-virtualmedia",
        "host": "2001:db8::1",
        "port": 8443,
        "system_id": "/redfish/v1/Systems/System.Embedded.1",
        "transport": "https",
        "virtual_media": True,
        "needs_provisioning_network": False,
        "privilege": "",
    }
    assert login.keys() == {"url", "error"}
    assert login["url"] == "redfish-virtualmedia://10.0.0.1/redfish/v1/Systems/1"
    assert not any(part in done.stdout for part in ("admin", "pa/ss", "w0rd"))
    assert (ipmi["url"], ipmi["driver"], ipmi["port"]) == ("ipmi://h", "ipmi", 623)
    assert (done.returncode, done.stderr) == (2, "")
    assert run("bmc-url", good).returncode == 0


def test_clashes_are_added_to_the_verdict_of_each_file(tmp_path: Path) -> None:
    bad = written(tmp_path / "bad.yaml", lambda c: c.pop("baseDomain"))
    done = run("clashes", GOOD, bad, "none.yaml")
    lines = done.stdout.splitlines()
    assert lines[0] == f"{GOOD}: ok"
    assert lines[1].startswith(f"{bad}: baseDomain: missing. Fix: ")
    assert lines[2].startswith(f"{bad}: metadata.name: okd is the name of {GOOD} too")
    assert all(f" of {GOOD}" in line for line in lines[2:-1])
    assert lines[-1] == "none.yaml: cannot be read: No such file or directory"
    assert done.returncode == 2


def test_clusters_without_a_clash_are_good(tmp_path: Path) -> None:
    def change(config: dict[str, Any]) -> None:
        bare = config["platform"]["baremetal"]
        config["metadata"]["name"] = "other"
        bare |= {
            "apiVIPs": ["192.168.111.9"],
            "ingressVIPs": ["192.168.111.10"],
            "externalMACAddress": "52:54:00:33:00:ff",
        }
        for index, host in enumerate(bare["hosts"]):
            host["bootMACAddress"] = f"52:54:00:33:00:{index:02x}"
            host["bmc"]["address"] = f"redfish-virtualmedia://10.0.0.{index + 1}/redfish/v1/Systems/1"

    other = written(tmp_path / "other.yaml", change)
    done = run("clashes", GOOD, other)
    assert (done.returncode, done.stdout) == (0, f"{GOOD}: ok\n{other}: ok\n")


def test_the_help_of_clashes_names_its_blind_spots() -> None:
    assert "reads no options: it derives the VRIDs" in " ".join(run("clashes", "--help").stdout.split())


def test_without_a_command_the_commands_are_listed() -> None:
    done = run()
    assert done.returncode == 2
    assert all(
        name in done.stdout for name in ("check", "plan", "schema", "payload-config", "vrid", "bmc-url", "clashes")
    )


def test_a_defect_of_the_program_is_one_line_without_values() -> None:
    with patch("cli.inspect.check.check_file", autospec=True, side_effect=KeyError("hunter2")):
        done = run("check", GOOD)
    assert (done.returncode, done.stdout) == (1, "")
    assert re.fullmatch(r"okd-baremetal: internal error: KeyError: mock\.py:\d+\n", done.stderr)


MAKE_ROOM = "Fix: make room on the disk of standard output and of $TMPDIR, or use another one"


def test_a_full_stdout_is_one_line() -> None:
    """S17 of issue 43."""
    with Path("/dev/full").open("w") as full:
        done = subprocess.run(
            [*COMMAND, "schema"], cwd=ROOT, stdout=full, stderr=subprocess.PIPE, text=True, check=False
        )
    line = f"the system refuses: No space left on device. {MAKE_ROOM}\n"
    assert (done.returncode, done.stderr) == (2, line)


def test_no_room_for_temporary_files_is_one_line(tmp_path: Path) -> None:
    """S17 of issue 43."""
    command = ["prlimit", "--fsize=0", *COMMAND, "gather", "rehearsal", "--out", str(tmp_path / "a.tar.gz")]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith("the system refuses: No usable temporary directory found in [")
    assert done.stderr.endswith(f"{MAKE_ROOM}\n")
    assert len(done.stderr.splitlines()) == 1


def test_a_closed_stdout_ends_the_command_silently() -> None:
    with subprocess.Popen([*COMMAND, "schema"], cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as started:
        assert started.stdout is not None
        assert started.stderr is not None
        started.stdout.close()
        assert started.stderr.read() == b""
        assert started.wait(timeout=60) == -signal.SIGPIPE


@pytest.mark.parametrize(
    "words", [("--help",), ("fleet", "--help"), ("check", "--help"), ("check", GOOD), ("clashes", GOOD)], ids=" ".join
)
def test_what_pre_commit_runs_needs_none_of_the_other_libraries(words: tuple[str, ...]) -> None:
    missing = {name: None for name in ("cryptography", "jinja2", "pulumi", "sushy", "temporalio", "urllib3")}
    code = f"import sys; sys.modules |= {missing}; from cli.__main__ import main; sys.exit(main({list(words)}))"
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=False)
    others = [line for line in done.stderr.splitlines() if ": notice: in plain text" not in line]
    assert (done.returncode, others) == (0, [])


def cpu_seconds(*words: object) -> tuple[int, float]:
    """Return the exit code and the CPU time; wall time depends on the machine's other load."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    code = run_process(*words).returncode
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return code, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def test_two_hundred_files_take_less_than_five_seconds(tmp_path: Path) -> None:
    file = written(tmp_path / "a.yaml", lambda _: None)
    code, seconds = cpu_seconds("check", *[file] * 200)
    assert code == 0
    assert seconds < 5


def test_clashes_of_a_hundred_files_take_less_than_ten_seconds(tmp_path: Path) -> None:
    file = written(tmp_path / "a.yaml", lambda _: None)
    code, seconds = cpu_seconds("clashes", *[file] * 100)
    assert code == 2
    assert seconds < 10
