"""Which member is asked for a snapshot, and what is written; tests/wire/test_etcd_snapshot.py has a real etcd."""

import hashlib
import logging
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from base import log
from base.errors import ConfigError, SnapshotError
from base.progress import Progress
from providers.etcd.access import EtcdAccess
from providers.etcd.snapshot import BY_HAND, OPERATOR, EtcdSnapshots
from testing.certificates import authority
from testing.fakes.etcd import NAMESPACE, EtcdApi, FakeMembers

MEMBERS = ("192.0.2.21", "192.0.2.22", "192.0.2.23")
FIX = f"Fix: have this machine reach 2379 of the control plane, and a majority of etcd answer; {OPERATOR}"
CLIENT = authority("etcd-signer").issue_client("etcd-client")


@dataclass
class Rig:
    """A cluster whose etcd is saved into a folder."""

    folder: Path
    members: FakeMembers = field(default_factory=FakeMembers)
    api: EtcdApi = field(default_factory=lambda: EtcdApi.of(MEMBERS, authority("etcd-signer").pem, CLIENT))
    said: list[str] = field(default_factory=list)
    connected: list[tuple[bytes, bytes, bytes]] = field(default_factory=list)

    def take(self) -> str:
        def connect(ca: bytes, certificate: bytes, key: bytes) -> FakeMembers:
            self.connected.append((ca, certificate, key))
            return self.members

        at = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)
        return EtcdSnapshots(EtcdAccess(self.api, "192.0.2.5", connect), self.folder, self._say, lambda: at).take()

    def _say(self, progress: Progress) -> None:
        self.said.append(str(progress))

    def refused(self) -> str:
        with pytest.raises(SnapshotError) as error:
            self.take()
        assert not [*self.folder.glob("*")], "a file was left"
        return str(error.value)


@pytest.fixture
def rig(tmp_path: Path) -> Rig:
    return Rig(tmp_path / "snapshots")


def test_a_snapshot_is_the_database_with_its_digest(rig: Rig) -> None:
    database, signer = rig.members.database, authority("etcd-signer")
    assert Path(rig.take()).read_bytes() == database + hashlib.sha256(database).digest()
    assert rig.connected == [(signer.pem.encode(), CLIENT.certificate.encode(), CLIENT.key.encode())]
    assert rig.members.asked == ["192.0.2.21"]


def test_the_next_member_is_asked_if_one_fails(rig: Rig) -> None:
    rig.members.broken, rig.members.cut_after = {MEMBERS[0]: "UNAVAILABLE: refused"}, {MEMBERS[1]: 2}
    rig.take()
    assert rig.members.asked == [*MEMBERS]
    assert [*rig.folder.iterdir()] == [rig.folder / "snapshot_2026-01-02_030405.db"]


@pytest.mark.parametrize("blocks", [0, 1, 3])
def test_what_breaks_off_is_no_snapshot(rig: Rig, blocks: int) -> None:
    rig.members.cut_after = dict.fromkeys(MEMBERS, blocks)
    lines = [
        f"    {member}: the {blocks * 32768} bytes that came do not end with their SHA-256" for member in MEMBERS
    ]
    assert rig.refused() == "\n".join(["etcd: not saved: no member gave a snapshot", *lines]) + f". {FIX}"


def test_a_flipped_bit_is_no_snapshot(rig: Rig, monkeypatch: pytest.MonkeyPatch) -> None:
    sent = rig.members.snapshot

    def flipped(address: str) -> Any:
        first, *others = sent(address)
        return [first._replace(content=b"\1" + first.content[1:]), *others]

    monkeypatch.setattr(rig.members, "snapshot", flipped)
    assert "do not end with their SHA-256" in rig.refused()


@pytest.mark.parametrize(
    ("path", "resource", "missing"),
    [
        pytest.param("configmaps/etcd-endpoints", None, "ConfigMap etcd-endpoints", id="no-members"),
        pytest.param("configmaps/etcd-endpoints", {"data": {}}, "ConfigMap etcd-endpoints", id="empty"),
        pytest.param("configmaps/etcd-ca-bundle", {"data": {"other": ""}}, "ConfigMap etcd-ca-bundle", id="no-ca"),
        pytest.param("secrets/etcd-client", {"data": {"tls.crt": "eA=="}}, "Secret etcd-client", id="no-key"),
    ],
)
def test_without_what_etcds_clients_need_nothing_is_asked(
    rig: Rig, path: str, resource: dict[str, Any] | None, missing: str
) -> None:
    del rig.api.resources[f"{NAMESPACE}/{path}"]
    if resource:
        rig.api.resources[f"{NAMESPACE}/{path}"] = resource
    what = f"etcd: not saved: in namespace openshift-etcd, {missing} is missing or empty"
    assert rig.refused() == f"{what}. Fix: {OPERATOR}"
    assert rig.members.asked == []


def test_an_api_that_does_not_answer_is_a_fault(rig: Rig) -> None:
    rig.api.down = True
    what = "the API cannot be asked through 192.0.2.5: refused"
    assert rig.refused() == f"etcd: not saved: {what}. Fix: have the API answer first, {BY_HAND}"


def test_a_folder_that_cannot_be_made_is_a_fault(rig: Rig) -> None:
    rig.folder.write_text("a file")
    fix = "have room in that folder, and rights to write into it; or name another one in `snapshots`"
    with pytest.raises(ConfigError) as error:
        rig.take()
    file = rig.folder / "snapshot_2026-01-02_030405.db"
    assert str(error.value) == f"etcd: not saved: {file} cannot be written (File exists). Fix: {fix}"
    assert rig.members.asked == ["192.0.2.21"], "another member cannot write it either"


def test_progress_says_how_much_is_to_come(rig: Rig, monkeypatch: pytest.MonkeyPatch) -> None:
    rig.members.database = bytes(5 << 20)
    monkeypatch.setattr("providers.etcd.snapshot.REPORT_BYTES", 2 << 20)
    path = rig.take()
    assert rig.said == [
        "save etcd: asking 192.0.2.21",
        "save etcd: 2 of 5 MiB from 192.0.2.21",
        "save etcd: 4 of 5 MiB from 192.0.2.21",
        f"save etcd: {path}: 5 MiB, revision 42 or later",
    ]


def test_the_log_has_the_write_and_no_key(rig: Rig, tmp_path: Path) -> None:
    log.opened(tmp_path / "run.jsonl")
    try:
        logging.getLogger("wires").debug("%r", rig.connected)
        rig.take()
    finally:
        log.close()
    text = (tmp_path / "run.jsonl").read_text()
    assert f"folder {rig.folder}: save etcd" in text
    assert "PRIVATE KEY" not in text
