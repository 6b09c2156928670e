"""Hosts that leave the stack: drained, out of the cluster, and forgotten."""

from collections.abc import Callable
from pathlib import Path

import pytest

from base.errors import OkdBaremetalError, ProvisioningError
from providers import registered
from providers.host_provisioning.composition import mark_of
from providers.host_provisioning.provider import HostProvisioningProvider
from providers.host_provisioning.removal import Removal
from providers.mark_file import Ended
from testing.kubeconfigs import write_kubeconfig
from tests.unit.providers.host_provisioning.rollouts import Rollouts, updated
from tests.unit.providers.host_provisioning.specs import INSTALLED, ROLE, of_hosts, spec
from wires.bmc.client import Identity


@pytest.fixture
def taken_out(payload: Path, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The hosts that are taken out of the cluster; test_removal.py checks how. That of `w9` fails."""
    write_kubeconfig(payload)
    names: list[str] = []

    def take_out(own: Removal) -> None:
        if own.host == "w9":
            raise ProvisioningError("not drained", where=own.host, fix="wait")
        names.append(f"{own.host} {own.uuid} {own.deadline_s:g}")

    monkeypatch.setattr(Removal, "take_out", take_out)
    monkeypatch.setattr(registered, "UNDRAINED", {"w1", "w9"})
    return names


class TestRemoval:
    """Hosts that leave the install-config of a cluster in production."""

    def test_they_are_out_before_another_is_installed(self, rollouts: Rollouts, taken_out: list[str]) -> None:
        rollouts.then = lambda: taken_out.append("installs")
        updated({**INSTALLED, "stack": "prod"}, **of_hosts("w0", "w2"), stack="prod", deadline_s=7)
        assert taken_out == ["w1 w1 7", "installs"]
        assert [name for name in ("w1", "w9") if registered.may_have_pods(name)] == ["w9"]

    def test_one_that_stays_fails_the_update_and_the_others_are_out(
        self, rollouts: Rollouts, taken_out: list[str]
    ) -> None:
        state = {**INSTALLED, **of_hosts("w0", "w1", "w9"), "stack": "prod"}
        with pytest.raises(ProvisioningError) as error:
            updated(state, **of_hosts("w0", "w2"), stack="prod")
        what = "1 of 2 compute hosts were not taken out of the cluster:\n    w9: not drained. Fix: wait"
        assert str(error.value) == f"{what}. Fix: do what each line says"
        assert (taken_out, rollouts.targets) == (["w1 w1 0"], [])
        assert [name for name in ("w1", "w9") if registered.may_have_pods(name)] == ["w9"]

    def test_without_a_kubeconfig_they_stay(self, rollouts: Rollouts, payload: Path) -> None:
        with pytest.raises(OkdBaremetalError, match=r"auth/kubeconfig: missing, but `platform.baremetal.hosts` asks"):
            updated({**INSTALLED, "stack": "prod"}, **of_hosts("w0"), stack="prod")

    def test_a_destroy_drains_nothing(self, taken_out: list[str]) -> None:
        HostProvisioningProvider().delete("test-compute", {**INSTALLED, "stack": "prod"})
        assert taken_out == []

    def test_a_preview_names_them(self, capsys: pytest.CaptureFixture[str]) -> None:
        HostProvisioningProvider().diff("test-compute", INSTALLED, {**ROLE, **of_hosts("w0")})
        line = "compute: will be cordoned and drained, then switched off, and their nodes deleted: w1"
        assert line in capsys.readouterr().err.splitlines()


class TestMarks:
    """What the provisioner remembers of installations, after the state knows them no more."""

    @pytest.fixture
    def marks(self, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Callable[[], list[str]]:
        monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
        role, ended = spec(), Ended(Identity("c0ffee00-0000-4000-8000-000000000001", "SN-1"), "cd")
        for name in role.hosts:
            mark_of(role, name).set(ended)
        return lambda: [name for name in role.hosts if mark_of(role, name).read() == ended]

    def test_destroy_forgets_all(self, marks: Callable[[], list[str]]) -> None:
        assert marks() == ["w0", "w1"]
        HostProvisioningProvider().delete("test-compute", INSTALLED)
        assert marks() == []

    def test_an_update_forgets_a_host_that_leaves_the_stack(
        self, marks: Callable[[], list[str]], taken_out: list[str]
    ) -> None:
        updated({**INSTALLED, "stack": "prod"}, **of_hosts("w0"), stack="prod")
        assert marks() == ["w0"]
