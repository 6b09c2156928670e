"""The certificate that a server shows, read without a login, a client's certificate or a request."""

from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from testing.certificates import authority
from testing.fakes.https_server import https_server
from wires.shown_certificate import expiry_warning, shown_certificate

ADDRESS = "127.0.0.1"


@pytest.fixture
def pem(tmp_path: Path) -> Path:
    pair = authority("test-ca").issue(["api.okd.lab.test"])
    path = tmp_path / "server.pem"
    path.write_text(pair.certificate + pair.key)
    return path


@pytest.mark.parametrize("client_ca", ["", authority("test-ca").pem], ids=["to-everybody", "as-etcd-to-clients-only"])
def test_a_server_shows_its_certificate_and_gets_no_request(pem: Path, client_ca: str) -> None:
    with https_server(str(pem), client_ca=client_ca) as server:
        shown = shown_certificate(ADDRESS, server.port, server_name="api.okd.lab.test")
    assert shown is not None
    assert shown.life is not None
    assert (shown.subject, server.names) == ("CN=api.okd.lab.test", ["api.okd.lab.test"])
    assert shown.life.begins < datetime.now(UTC) < shown.life.ends < datetime.now(UTC) + timedelta(days=31)
    assert [request for request in server.requests if request] == []


def test_only_a_certificate_near_its_end_has_a_warning(pem: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with https_server(str(pem)) as server:
        assert expiry_warning(ADDRESS, server.port) is None
        monkeypatch.setattr("wires.certificates.RENEWED_IN_TIME", 0)
        assert str(expiry_warning(ADDRESS, server.port)).startswith("expires on ")
    assert expiry_warning(ADDRESS, server.port) is None, "nobody serves there any more"
