"""Commands of `okd-baremetal` on the files of a site, one or two of which are mutated.

A finding is what the command line calls an internal error, or an exit code that no command has.
"""

import json
from base64 import b64decode, b64encode
from functools import cache
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory

from base.yaml_text import yaml_of
from cli.shared.command_line import EXIT_ERROR
from providers.vip_handoff.model import VipHandoffOuts
from testing.command_line import run
from testing.fuzz import readers
from testing.fuzz.engine import Surface
from testing.fuzz.readers import mutated

CONFIG, STACK, PAYLOAD = "stacks/fuzz/install-config.yaml", "stacks/Pulumi.fuzz.yaml", "stacks/fuzz/payload"
STDIN = "stdin"
FAST: tuple[tuple[str, ...], ...] = (
    *(("check", CONFIG), ("check", "--stack", CONFIG), ("clashes", CONFIG, CONFIG), ("fleet", "check", "fleet.yaml")),
    *(("plan", CONFIG), ("plan", CONFIG, "--stack", "fuzz"), ("payload-config", CONFIG), ("log", "fuzz")),
    *(
        ("network-boot", CONFIG),
        ("review", "fuzz", "--preview", "preview.json"),
        ("review", "fuzz", "--preview", "-"),
    ),
    *(("chart",), ("render", CONFIG, "--sample-addresses", "--out", "out"), ("bmc-url",)),
    *(("render", CONFIG, "--stack", "fuzz", "--payload", PAYLOAD, "--out", "out"),),
)
"""Commands that read only files."""
PRINTS_SECRETS = ("payload-config",)
"""It prints the install-config that openshift-install reads, with the pull secret."""
URLS = (b"redfish-virtualmedia+https://192.0.2.1:8443/redfish/v1/Systems/1", b"idrac-virtualmedia://[2001:db8::1]/")


@cache
def _site() -> dict[str, bytes]:
    """Return the files of a site, by path; `stdin` is what is piped into the command."""
    timeline = [{"state": "gate", "at_s": 0.0}, {"state": "done", "at_s": 9.5}]
    handoff = VipHandoffOuts(timeline=timeline, holders=[{"holder": "a", "at_s": 0.5}], gap_ms=3, gap_at_s=1.0)
    fleet = {"sites": {"a": ["fuzz"]}, "waves": [{"at_a_time": 1}]}
    return {
        CONFIG: readers.install_config(),
        STACK: readers.stack_file(),
        "fleet.yaml": yaml_of(fleet).encode(),
        "preview.json": readers.preview(),
        "log/fuzz/2026-11-25T100000.000Z.jsonl": readers.log(),
        f"{PAYLOAD}/auth/kubeconfig": readers.kubeconfig_file(),
        **{f"{PAYLOAD}/{name}.ign": content for name, content in readers.payload().items()},
        STDIN: json.dumps(handoff.props()).encode(),
    }


def _make(random: Random) -> bytes:
    files = _site()
    words = random.choice(FAST)
    if words == ("bmc-url",):
        words = (*words, "--", *(mutated(random, url).decode(errors="replace").replace("\0", "") for url in URLS))
    named = [path for path in files if path in words] or [STDIN, *files]
    changed = {path: mutated(random, files[path]) for path in {random.choice(named), random.choice([*files])}}
    encoded = {path: b64encode(content).decode() for path, content in sorted(changed.items())}
    return json.dumps({"words": words, "files": encoded}).encode()


def _run(case: bytes) -> str:
    wanted = json.loads(case)
    files = _site() | {path: b64decode(content) for path, content in wanted["files"].items()}
    with TemporaryDirectory() as folder:
        for path, content in files.items():
            Path(folder, path).parent.mkdir(parents=True, exist_ok=True)
            Path(folder, path).write_bytes(content)
        done = run(*wanted["words"], folder=Path(folder), stdin=files[STDIN].decode(errors="replace"))
    if done.returncode == EXIT_ERROR:
        raise AssertionError(done.stderr)
    own = "" if wanted["words"][0] in PRINTS_SECRETS else done.stdout
    return own + done.stderr


SURFACE = Surface(_make, _run)
