"""Faults planted in the program, and the seed that finds each first: `python -m tests.simulation.planted [SEEDS]`.

Each fault is planted as a module is imported, in a process of its own; no file is changed.
"""

import importlib.abc
import importlib.machinery
import importlib.util
import subprocess
import sys
from types import ModuleType
from typing import Any

from testing.checkout import ROOT

SEEDS = 300
ENGINE = "providers.host_provisioning.installation.engine"
FAULTS: dict[str, tuple[str, str, str]] = {
    "the lock of a BMC is not taken": (
        "wires.bmc_clients",
        "        with lock.held(bmc.url):\n            yield bmc",
        "        yield bmc",
    ),
    "any machine is accepted": (
        "providers.bmc_host.engine",
        "        self._compare_with_record(machine)\n        self.compare_with_consent(machine)\n",
        "",
    ),
    "a spare is left off, as a server is": (
        "providers.bmc_host.engine",
        "        return machine, self._as_found()\n",
        "        found = self._as_found()\n"
        "        run_steps(self._off(self._steps()), self.clock)\n"
        "        return machine, found\n",
    ),
    "servers join the control plane together": (
        "providers.host_provisioning.records",
        "    elif len(changing) > 1:\n",
        "    elif False:\n",
    ),
    "a server joins while a member of etcd is dead": (
        "providers.host_provisioning.etcd_guard",
        " or self._members({host: addresses}) or self._quorum()\n",
        " or self._members({host: addresses})\n",
    ),
    "compute that leaves is not drained": (
        "providers.host_provisioning.removal",
        "                self._drain(node)\n                left = ",
        "                left = ",
    ),
    "the node of compute that has left stays": (
        "providers.host_provisioning.removal",
        "        self._delete_node()\n",
        "",
    ),
    "etcd is not saved before it changes": (
        "providers.host_provisioning.provision",
        "    if plan.saves_etcd(spec):\n        _save_etcd(spec)\n",
        "",
    ),
    "two that join one do not wait for each other": (
        "providers.host_provisioning.provision",
        "together = plan.joining if spec.out_of_etcd else ()",
        "together = ()",
    ),
    "what a system that is gone has asked for counts": (
        "providers.host_provisioning.composition",
        "            joining.forget(departure.host)\n",
        "            pass\n",
    ),
    "OKD is not asked whether one may become three": (
        "providers.host_provisioning.provision",
        "            composition.control_plane_of(spec, known).prove(name)\n",
        "            pass\n",
    ),
    "a BMC that fails once ends the comparison of all": (
        "providers.machines.provider",
        "run_steps(steps.current_power(), SYSTEM_CLOCK)",
        "bmc.power()",
    ),
    "a mark stays behind when its BMC gets another address": (
        "providers.bmc_host.provider",
        "                _follow(old, new)\n",
        "                pass\n",
    ),
    "a machine is not compared before its disk is wiped": (
        ENGINE,
        "        yield from self._verify_identity(steps)\n",
        "        self._machine = self.adapters.bmc.identity()\n",
    ),
    "no mark is set": (ENGINE, "self.adapters.evidence.mark.set(Ended(self._machine, self.iso_sha256))", "pass"),
    "no evidence is looked for": (
        ENGINE,
        "elif not (yield from self._is_installed(",
        "elif True or not (yield from self._is_installed(",
    ),
    "the cluster is not asked for the node": (
        "providers.host_provisioning.installation.evidence",
        "self.answers()) or self.has_joined(machine)",
        "self.answers())",
    ),
    "the boot ISO stays in the drive at the first boot": (
        ENGINE,
        "        yield from self.adapters.boot_procedure.disarm(steps)\n        # Hdd",
        "        # Hdd",
    ),
    "the disk is not the next to boot": (ENGINE, "        yield from steps.disk_next()\n", ""),
    "the disk report of a server that was taken over is not read": (
        "providers.host_provisioning.installation.boot_procedures",
        "return self.media.sent(url) == 0 and not self.media.disk_report(self.host)",
        "return self.media.sent(url) == 0",
    ),
    "a server is recorded before it is up": (
        ENGINE,
        "        self._enter(FIRST_BOOT)\n        yield from self._wait_until_up(steps)\n",
        "        self._enter(FIRST_BOOT)\n",
    ),
    "an unanswered request is repeated at once": (
        "wires.bmc.pacing",
        "self.due_at = 0.0 if error.undone else self.clock.now() + UNSURE_S",
        "self.due_at = 0.0",
    ),
    "a failed host is recorded": (
        "providers.host_provisioning.provision",
        "    if failed:\n",
        "    if failed and not failed:\n",
    ),
    "`reinstall` has an effect each time": (
        "providers.host_provisioning.records",
        "if before.get(host) != who}",
        "if True or before.get(host) != who}",
    ),
    "etcd is not asked before a wipe": (
        "providers.host_provisioning.provision",
        "    departures = _departures(spec, plan, kubeconfig)\n",
        "    departures = dict[str, Departure]()\n",
    ),
    "the boot override is not restored": (
        "providers.bmc_host.engine",
        "            *self._restored(steps.override_as_found(was.target, was.enabled, was.mode), refused),\n",
        "",
    ),
    "the VIP is released before the control plane is ready": (
        "providers.vip_handoff.checks",
        "        return self._unready() or self._held_by([self.spec.bootstrap_name, *self.spec.nodes])",
        "        return self._held_by([self.spec.bootstrap_name, *self.spec.nodes])",
    ),
    "the end of OKD's bootstrap is not awaited": (
        "providers.vip_handoff.checks",
        "        return self.control_plane_serves() or self._incomplete()",
        "        return self.control_plane_serves()",
    ),
    "a VM that no handoff has ended is deleted": (
        "providers.bootstrap_vm.engine",
        "        if domain and (seen := _seen_of_control_plane(network)):\n",
        "        if False and (seen := _seen_of_control_plane(network)):\n",
    ),
    "the VM is rebuilt under a control plane": (
        "providers.bootstrap_vm.engine",
        "            self._refuse_change(vm, network)\n",
        "            pass\n",
    ),
    "the servers that are recorded do not keep their VM": (
        "providers.host_provisioning.records",
        "    yield from _stranded(plan, old)\n",
        "",
    ),
    "a VM that went off is not started again": (
        "providers.bootstrap_vm.engine",
        "            self.hypervisor.start(vm.name)\n            self.report",
        "            self.report",
    ),
    "the VM's volumes are left": (
        "providers.bootstrap_vm.engine",
        "            self.hypervisor.delete_volume(vm.pool, volume)\n",
        "            pass\n",
    ),
}

FOUND_BY = {
    "the lock of a BMC is not taken": 0,
    "any machine is accepted": 51,
    "a spare is left off, as a server is": 22,
    "servers join the control plane together": 22,
    "a server joins while a member of etcd is dead": 38,
    "compute that leaves is not drained": 9,
    "the node of compute that has left stays": 2,
    "etcd is not saved before it changes": 1,
    "two that join one do not wait for each other": 4,
    "what a system that is gone has asked for counts": 60026,
    "OKD is not asked whether one may become three": 17,
    "a BMC that fails once ends the comparison of all": 2119,
    "a mark stays behind when its BMC gets another address": 48,
    "a machine is not compared before its disk is wiped": 89,
    "no mark is set": 187,
    "no evidence is looked for": 9,
    "the cluster is not asked for the node": 9,
    "the boot ISO stays in the drive at the first boot": 0,
    "the disk is not the next to boot": 0,
    "the disk report of a server that was taken over is not read": 20198,
    "a server is recorded before it is up": 1,
    "an unanswered request is repeated at once": 44,
    "a failed host is recorded": 2,
    "`reinstall` has an effect each time": 163,
    "etcd is not asked before a wipe": 163,
    "the boot override is not restored": 1,
    "the VIP is released before the control plane is ready": 156,
    "the end of OKD's bootstrap is not awaited": 1,
    "a VM that no handoff has ended is deleted": 187,
    "the VM is rebuilt under a control plane": 1352,
    "the servers that are recorded do not keep their VM": 50191,
    "a VM that went off is not started again": 1,
    "the VM's volumes are left": 1,
}
"""A seed that finds each."""


class _Loader(importlib.machinery.SourceFileLoader):
    def __init__(self, name: str, path: str, change: tuple[str, str]) -> None:
        super().__init__(name, path)
        self.change = change

    def get_code(self, fullname: str) -> Any:
        text = self.get_data(self.path).decode()
        old, new = self.change
        assert text.count(old) == 1, f"{self.path}: {text.count(old)} times, wanted once: {old}"
        return compile(text.replace(old, new), self.path, "exec")


class _Finder(importlib.abc.MetaPathFinder):
    def __init__(self, name: str, old: str, new: str) -> None:
        self.name, self.change = name, (old, new)

    def find_spec(self, fullname: str, path: object, target: ModuleType | None = None) -> Any:
        if fullname != self.name:
            return None
        file = str(ROOT / f"{fullname.replace('.', '/')}.py")
        return importlib.util.spec_from_file_location(fullname, file, loader=_Loader(fullname, file, self.change))


def found_by(fault: str, seeds: int) -> str:
    """Plant a fault in this process, which has not imported the program, and return how it was found."""
    sys.meta_path.insert(0, _Finder(*FAULTS[fault]))
    from tests.simulation.history import drawn  # noqa: PLC0415
    from tests.simulation.judge import lived  # noqa: PLC0415

    for number in range(seeds):
        if breaches := lived(drawn(str(number))).breaches:
            return f"{number + 1} | {breaches[0].promise}"
    return f"not in {seeds} |"


def main(words: list[str]) -> int:
    if words[:1] == ["--fault"]:
        print(f"| {words[1]} | {found_by(words[1], int(words[2]))} |", flush=True)
        return 0
    seeds = int(words[0]) if words else SEEDS
    for fault in FAULTS:
        subprocess.run([sys.executable, "-m", __spec__.name, "--fault", fault, str(seeds)], check=True)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
