"""`okd-baremetal bmc` with the real Pulumi: it decrypts the logins, and writes the consents."""

import shutil
import subprocess
from pathlib import Path

import yaml

from testing import plans
from testing.checkout import ROOT
from testing.command_line import run
from testing.fakes.fleet.fleet import Fault, Options, running, uuid_of
from testing.pulumi_env import pulumi_env

DIGITS = "7012345"


def test_logins_are_decrypted_and_consents_are_written_as_texts(tmp_path: Path) -> None:
    names, env = plans.HOSTS, pulumi_env(tmp_path)

    def pulumi(*words: str) -> None:
        command = ["pulumi", "--stack", "prod", "--non-interactive", *words]
        subprocess.run(command, cwd=tmp_path, env=env, check=True, capture_output=True, text=True)

    with running(Options(hosts=len(names))) as fleet:
        shutil.copy(ROOT / "Pulumi.yaml", tmp_path)
        config = plans.install_config()
        for index, host in enumerate(config["platform"]["baremetal"]["hosts"]):
            host["bmc"] |= {"address": fleet.address(index), "password": "a placeholder"}
        folder = tmp_path / "stacks" / "prod"
        folder.mkdir(parents=True)
        (folder / "install-config.yaml").write_text(yaml.safe_dump(config))
        file = tmp_path / "stacks" / "Pulumi.prod.yaml"
        pulumi("stack", "init")
        pulumi("config", "set", "bmc_ca", "--", fleet.ca)
        for kind, key in (("--plaintext", "username"), ("--secret", "password")):
            logins = [f"bmc_credentials.{name}.{key}={getattr(fleet.options, key)}" for name in names]
            pulumi("config", "set-all", "--path", *(word for login in logins for word in (kind, login)))
        fleet.fault(Fault("GET .*/Systems/1$", "says", says={"SerialNumber": DIGITS, "UUID": ""}), hosts=(1,))
        consents = {name: DIGITS if index == 1 else uuid_of(index) for index, name in enumerate(names)}
        done = run("bmc", "consent", "prod", "--write", folder=tmp_path, **env)
        assert (done.returncode, yaml.safe_load(done.stdout)) == (0, {"okd-baremetal:consent": consents})
        written = yaml.safe_load(file.read_text())["config"]
        assert written["okd-baremetal:consent"] == consents, "digits are a text, too"
        assert fleet.options.password not in file.read_text(), "still encrypted"
        checked = run("bmc", "check", folder / "install-config.yaml", "--stack", "prod", folder=tmp_path, **env)
        assert checked.returncode == 0, checked.stdout
