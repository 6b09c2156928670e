"""What a client of etcd shows of itself; tests/wire/test_etcd_snapshot.py has it ask a real etcd."""

from testing.certificates import authority
from wires.etcd.client import EtcdClient


def test_a_client_shows_no_key() -> None:
    pair = authority("etcd-signer").issue_client("etcd-client")
    client = EtcdClient(b"ca", pair.certificate.encode(), pair.key.encode())
    assert "PRIVATE KEY" not in repr(client)
