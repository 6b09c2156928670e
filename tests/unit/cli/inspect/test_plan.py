"""`plan --stack` reports whatever a stack's file holds; tests/program/test_foretold.py compares it with a preview."""

import tempfile
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import yaml
from hypothesis import given
from hypothesis import strategies as st

from cluster.inventory.model import DiscoveredServer, Inventory
from testing import plans
from testing.command_line import run

SCALARS = st.none() | st.booleans() | st.integers(-9, 999) | st.text(max_size=9)
ODD = (
    SCALARS
    | st.ip_addresses().map(str)
    | st.sampled_from(["192.168.111.21", "192.168.111.5", "production", "preempt", "host", "install"])
    | st.just({"secure": "v1:ciphertext"})
    | st.lists(SCALARS, max_size=2)
    | st.dictionaries(st.text(max_size=9), SCALARS, max_size=2)
)


def _places(value: Any) -> list[tuple[Any, ...]]:
    """Return the path of each value below an option's name."""
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    return [way for key, below in items for way in [(key,), *((key, *rest) for rest in _places(below))]]


def _replaced(value: Any, way: tuple[Any, ...], new: object) -> Any:
    if not way:
        return new
    copied = value.copy()
    copied[way[0]] = _replaced(value[way[0]], way[1:], new)
    return copied


@given(st.data())
def test_no_option_raises_another_error(data: st.DataObject) -> None:
    options: Any = plans.options()
    for _ in range(data.draw(st.integers(1, 3))):
        options = _replaced(options, data.draw(st.sampled_from(_places(options))), data.draw(ODD))
    with tempfile.TemporaryDirectory() as folder:
        Path(folder, "stacks").mkdir()
        config = {f"{plans.PROJECT}:{name}": value for name, value in options.items()}
        Path(folder, "stacks", "Pulumi.odd.yaml").write_text(yaml.safe_dump({"config": config}))
        done = run("plan", plans.INSTALL_CONFIG, "--stack", "odd", folder=Path(folder))
    assert done.returncode == (2 if done.stderr else 0), done.stderr
    assert bool(done.stdout) is not bool(done.stderr)
    assert all(": " in line for line in done.stderr.splitlines())


def test_a_payload_is_checked_while_the_base_isos_are_missing(tmp_path: Path) -> None:
    (tmp_path / "stacks/new/payload").mkdir(parents=True)
    (tmp_path / "stacks/new/payload/master.ign").write_text("{}")
    config = {f"{plans.PROJECT}:{name}": each for name, each in plans.options(media={}).items()}
    (tmp_path / "stacks/Pulumi.new.yaml").write_text(yaml.safe_dump({"config": config}))
    done = run("plan", plans.INSTALL_CONFIG, "--stack", "new", folder=tmp_path)
    found = [line.partition(". Fix: ")[0] for line in done.stderr.splitlines()]
    assert done.returncode == 2, done.stderr
    assert "config: media: neither address nor url" in found
    assert "stacks/new/payload/bootstrap.ign: cannot be read (No such file or directory)" in found


def test_missing_logins_hide_no_missing_option() -> None:
    done = run("plan", "stacks/compact/install-config.yaml", "--stack", "compact")
    found = [line.partition(". Fix: ")[0] for line in done.stderr.splitlines()]
    assert done.returncode == 2
    assert "stacks/compact/install-config.yaml: platform.baremetal.hosts[0].bmc.password: missing" in found
    consent = "config: consent.edge-b: missing; it names the one machine whose disk may be wiped"
    assert {"config: payload: missing", consent} <= {*found}
    assert "config: payload: missing. Fix: `okd-baremetal payload STACK`\n" in done.stderr


def test_a_serial_that_pulumi_reads_as_another_text_is_refused(tmp_path: Path) -> None:
    """W03, in a consent."""
    text = yaml.safe_dump({"config": {f"{plans.PROJECT}:{name}": each for name, each in plans.options().items()}})
    for serial, code in (("00123456", 2), ("'00123456'", 0), ("1234567", 0)):
        (tmp_path / "stacks").mkdir(exist_ok=True)
        file = tmp_path / "stacks/Pulumi.new.yaml"
        file.write_text(text.replace("SERIAL-okd-master-0", serial))
        done = run("plan", plans.INSTALL_CONFIG, "--stack", "new", folder=tmp_path)
        line = (
            "config: consent.okd-master-0: 00123456 is a number or a boolean without quotes, and is read as another"
        )
        assert (done.returncode, done.stderr.startswith(line)) == (code, code == 2)


def test_what_the_kept_inventory_contradicts_is_a_notice(tmp_path: Path) -> None:
    folder = tmp_path / "stacks" / plans.STACK
    folder.mkdir(parents=True)
    config = plans.install_config()
    (folder / "install-config.yaml").write_text(plans.written(config))
    options = {f"{plans.PROJECT}:{name}": value for name, value in plans.options().items()}
    (tmp_path / "stacks" / f"Pulumi.{plans.STACK}.yaml").write_text(yaml.safe_dump({"config": options}))
    host = plans.intent().servers[0]
    server = DiscoveredServer(bmc=f"{host.bmc.url.base}{host.bmc.url.system_id}", memory_mib=4096)
    inventory = Inventory(dated=datetime(2026, 11, 27, tzinfo=UTC), servers=(server,))
    words = ("plan", folder / "install-config.yaml", "--stack", plans.STACK)
    assert run(*words, folder=tmp_path).stderr == ""
    (folder / "inventory.json").write_text(inventory.model_dump_json())
    done = run(*words, folder=tmp_path)
    seen = "by the inventory of 2026-11-27: 4 GB of memory, and a server of its role wants 16"
    assert (done.returncode, f"notice: {host.name}: {seen}" in done.stderr) == (0, True)
    (folder / "inventory.json").write_text("{")
    assert (run(*words, folder=tmp_path).returncode, "inventory.json" in run(*words, folder=tmp_path).stderr) == (
        2,
        True,
    )
