"""Snapshots of a real etcd that wants client certificates, as OKD's does; and what `etcdutl` restores from them."""

import base64
import json
import re
import shutil
import ssl
import subprocess
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial
from ipaddress import ip_address
from pathlib import Path
from typing import Any
from urllib.error import HTTPError
from urllib.request import Request, urlopen

import pytest

from base.errors import SnapshotError
from base.progress import Progress
from cluster.values.snapshots import Store, store_of
from lab.binaries import ensure_binary
from providers.etcd.access import EtcdAccess
from providers.etcd.snapshot import EtcdSnapshots
from testing.certificates import authority
from testing.checkout import ROOT
from testing.fakes.etcd import EtcdApi
from testing.namespaces import needs_root
from testing.s3 import s3_server
from testing.scene.machine import until
from wires.etcd.client import EtcdClient

pytestmark = needs_root  # as root, each worker has a loopback of its own
ADDRESSES = ("127.0.0.1", "127.0.0.2", "127.0.0.3")
PAGE = ROOT / "docs" / "how-to" / "restore-a-control-plane.md"
KEYS = {f"/kubernetes.io/secrets/default/{number}": f"value {number}" * number for number in range(20)}
SAVED_AT = datetime(2026, 11, 27, 3, 0, 5, tzinfo=UTC)


@dataclass(frozen=True)
class Members:
    """Members of etcd on loopback addresses, with the flags of OKD's etcd pod (see `assets.contract.ETCD_PORT`)."""

    folder: Path
    started: dict[str, subprocess.Popen[bytes]]

    def start(self, address: str, names: Sequence[str], state: str = "new") -> None:
        """Start one, which serves once enough of the others run; with the state `existing`, one that was added."""
        pair = authority("etcd-signer").issue(["localhost"], [ip_address(address)])
        for name, text in {"crt": pair.certificate, "key": pair.key}.items():
            (self.folder / f"{address}.{name}").write_text(text)
        if not (ca := self.folder / "ca.crt").exists():  # a member that starts may be reading it
            ca.write_text(authority("etcd-signer").pem)
        tls = [f"--{kind}{name}={self.folder / file}" for kind in ("", "peer-") for name, file in files(address)]
        peers, clients = f"https://{address}:2380", f"https://{address}:2379"
        command = [
            str(ensure_binary("etcd-server")),
            f"--name={address}",
            f"--data-dir={self.folder / address}",
            *tls,
        ]
        command += ["--client-cert-auth=true", "--peer-client-cert-auth=true", "--log-level=fatal"]
        command += [f"--listen-peer-urls={peers}", f"--initial-advertise-peer-urls={peers}"]
        command += [f"--listen-client-urls={clients}", f"--advertise-client-urls={clients}"]
        command.append(f"--initial-cluster-state={state}")
        command += [f"--initial-cluster={','.join(f'{name}=https://{name}:2380' for name in names)}"]
        self.started[address] = subprocess.Popen(command)

    def end(self) -> None:
        """End all."""
        for process in self.started.values():
            process.kill()
            process.wait()

    def lose(self, address: str) -> None:
        """End one and its disk."""
        self.started[address].kill()
        self.started.pop(address).wait()
        shutil.rmtree(self.folder / address)

    def serves(self, address: str) -> bool:
        """Whether one answers with a majority."""
        try:
            return client().revision(address) > 0
        except OSError:
            return False

    def adds(self, address: str) -> bool:
        """Add a learner, which has yet to start. False: the others have not been connected for long enough (5 s)."""
        return not self.refuses_to_add(address)

    def refuses_to_add(self, address: str) -> str:
        """Add a learner; return etcd's words if it refuses."""
        return self._member("add", {"peerURLs": [f"https://{address}:2380"], "isLearner": True})

    def promotes(self, member: int) -> bool:
        """Let a learner vote. False: it is not in step with the leader yet, or this is no leader."""
        return not self._member("promote", {"ID": str(member)})

    def listed(self) -> list[dict[str, Any]]:
        """Return what the first one, with a majority, tells of each."""
        found: list[dict[str, Any]] = self._cluster("list", {"linearizable": True})["members"]
        return found

    def _member(self, what: str, body: dict[str, Any]) -> str:
        try:
            self._cluster(what, body)
        except HTTPError as error:
            return str(json.load(error)["message"])
        return ""

    def _cluster(self, what: str, body: dict[str, Any]) -> dict[str, Any]:
        return called(f"https://{ADDRESSES[0]}:2379/v3/cluster/member/{what}", body, self._tls(ADDRESSES[0]))

    def call(self, path: str, message: dict[str, str], address: str = ADDRESSES[0]) -> dict[str, Any]:
        """Make a call of etcd's JSON gateway, its texts in base64."""
        return called(f"https://{address}:2379/v3/kv/{path}", in_base64(message), self._tls(address))

    def _tls(self, address: str) -> ssl.SSLContext:
        tls = ssl.create_default_context(cafile=self.folder / "ca.crt")
        tls.load_cert_chain(self.folder / f"{address}.crt", self.folder / f"{address}.key")
        return tls


def files(address: str) -> list[tuple[str, str]]:
    return [("cert-file", f"{address}.crt"), ("key-file", f"{address}.key"), ("trusted-ca-file", "ca.crt")]


def in_base64(message: dict[str, str]) -> dict[str, str]:
    return {key: base64.b64encode(text.encode()).decode() for key, text in message.items()}


def called(url: str, body: dict[str, Any], tls: ssl.SSLContext | None = None) -> dict[str, Any]:
    request = Request(url, json.dumps(body).encode())  # noqa: S310  (on loopback)
    with urlopen(request, timeout=10, context=tls) as answer:  # noqa: S310
        read: dict[str, Any] = json.load(answer)
    return read


def keys_in(answer: dict[str, Any]) -> dict[str, str]:
    return {decoded(pair["key"]): decoded(pair.get("value", "")) for pair in answer["kvs"]}


def decoded(text: str) -> str:
    return base64.b64decode(text).decode()


EVERYTHING = {"key": "/", "range_end": "0"}


@contextmanager
def members(folder: Path, addresses: Sequence[str] = ADDRESSES) -> Iterator[Members]:
    """Yield some that serve."""
    folder.mkdir()
    with ExitStack() as stack:
        started = Members(folder, {})
        stack.callback(started.end)
        for address in addresses:
            started.start(address, addresses)
        for address in addresses:
            until(f"etcd at {address}", partial(started.serves, address))
        yield started


def client(signer: str = "etcd-signer") -> EtcdClient:
    pair = authority(signer).issue_client("etcd-client", "system:etcd", "etcd-client")
    return EtcdClient(authority("etcd-signer").pem.encode(), pair.certificate.encode(), pair.key.encode())


def snapshots(store: Store, said: list[str], signer: str = "etcd-signer") -> EtcdSnapshots:
    pair = authority(signer).issue_client("etcd-client", "system:etcd", "etcd-client")
    api = EtcdApi.of(ADDRESSES, authority("etcd-signer").pem, pair)

    def say(progress: Progress) -> None:
        said.append(str(progress))

    return EtcdSnapshots(EtcdAccess(api, "192.0.2.5", EtcdClient), store, say, lambda: SAVED_AT)


def test_all_that_was_written_is_there_after_a_restore(tmp_path: Path) -> None:
    said = list[str]()
    with members(tmp_path / "members") as three:
        for key, value in KEYS.items():
            three.call("put", {"key": key, "value": value})
        path = Path(snapshots(tmp_path / "saved", said).take())
        for address in ADDRESSES:
            three.lose(address)
        restored_as_the_restore_pod_does(three, path)
        assert keys_in(three.call("range", EVERYTHING)) == KEYS
    assert path == tmp_path / "saved" / "snapshot_2026-11-27_030005.db"
    assert (path.stat().st_mode & 0o777, path.parent.stat().st_mode & 0o777) == (0o600, 0o700)
    assert [*path.parent.iterdir()] == [path]
    assert said[0] == "save etcd: asking 127.0.0.1"
    assert re.fullmatch(rf"save etcd: {path}: \d+ MiB, revision {len(KEYS) + 1} or later", said[-1])


def test_what_went_into_a_bucket_is_restored(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "s3").mkdir()
    said = list[str]()
    with (
        s3_server(ensure_binary("versitygw"), tmp_path / "s3") as server,
        members(tmp_path / "etcd", ADDRESSES[:1]) as one,
    ):
        for key, value in KEYS.items():
            one.call("put", {"key": key, "value": value})
        for name, value in server.environment().items():
            monkeypatch.setenv(name, value)
        url = snapshots(store_of("prod", server.url), said).take()
        one.lose(ADDRESSES[0])
        ((key, content),) = server.objects().items()
        (tmp_path / "fetched.db").write_bytes(content)
        restored_as_the_restore_pod_does(one, tmp_path / "fetched.db")
        assert keys_in(one.call("range", EVERYTHING)) == KEYS
    assert key == "okd/prod/snapshot_2026-11-27_030005.db"
    assert url == server.url.replace("okd", key)
    assert said[-1].startswith(f"save etcd: {url}: ")


def restored_as_the_restore_pod_does(three: Members, path: Path) -> None:
    """Restore a new member with the arguments of bindata/etcd/restore-pod.yaml, cluster-etcd-operator b4786ae33."""
    address = ADDRESSES[0]
    cluster = [f"--initial-cluster={address}=https://{address}:2380", "--initial-cluster-token=openshift-etcd-1"]
    cluster.append(f"--initial-advertise-peer-urls=https://{address}:2380")
    bump = ["--mark-compacted", "--bump-revision", "1000000000"]
    data = f"--data-dir={three.folder / address}"
    etcdutl = ensure_binary("etcdutl")
    subprocess.run([etcdutl, "snapshot", "restore", path, f"--name={address}", *cluster, data, *bump], check=True)
    three.start(address, [address])
    until(f"the restored etcd at {address}", partial(three.serves, address))


def test_the_lines_of_the_page_restore_a_copy(tmp_path: Path) -> None:
    with members(tmp_path / "members", ADDRESSES[:1]) as one:
        one.call("put", {"key": "/kubernetes.io/namespaces/one", "value": "1"})
        path = Path(snapshots(tmp_path / "saved", []).take())
    section = PAGE.read_text().partition("## See that it can be restored")[2].partition("\n## ")[0]
    block = re.search(r"```console\n(.*?)```", section, re.DOTALL)
    assert block
    *lines, serve = block[1].replace("<snapshot>", str(path)).splitlines()
    programs = tmp_path / "bin"
    programs.mkdir()
    for name, program in {"etcdutl": "etcdutl", "etcd": "etcd-server"}.items():
        (programs / name).symlink_to(ensure_binary(program))
    environment = {"PATH": str(programs)}
    for line in lines:
        subprocess.run(line.split(), check=True, cwd=tmp_path, env=environment)
    copy = subprocess.Popen([*serve.split(), "--log-level=fatal"], cwd=tmp_path, env=environment)
    try:
        until("the copy", lambda: found_in_the_copy() == {"/kubernetes.io/namespaces/one": "1"})
    finally:
        copy.kill()
        copy.wait()


def found_in_the_copy() -> dict[str, str]:
    try:
        return keys_in(called("http://localhost:2379/v3/kv/range", in_base64(EVERYTHING)))
    except OSError:
        return {}


def test_a_member_without_a_majority_gives_no_snapshot(tmp_path: Path) -> None:
    with members(tmp_path / "members") as three:
        for address in ADDRESSES[1:]:
            three.lose(address)
        assert [*client().snapshot(ADDRESSES[0])], "alone, it would give an old one without a word"
        with pytest.raises(SnapshotError) as error:
            snapshots(tmp_path / "saved", []).take()
        with pytest.raises(SnapshotError) as refused:
            snapshots(tmp_path / "saved", [], "another-signer").take()
    first, alone, *gone = str(error.value).splitlines()
    assert first == "etcd: not saved: no member gave a snapshot"
    assert re.match(r" +127\.0\.0\.1: (UNAVAILABLE: etcdserver: |DEADLINE_EXCEEDED)", alone)
    assert ["Connection refused" in line for line in gone] == [True, True]
    assert "127.0.0.1: UNAVAILABLE: " in str(refused.value)
    assert not (tmp_path / "saved").exists()
