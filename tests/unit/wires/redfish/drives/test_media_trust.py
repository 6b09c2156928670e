"""Attack S9: a virtual CD over TLS, whose server the BMC verifies if it can."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from base.errors import OkdBaremetalError
from boot_media.certificate import ServerCertificate
from testing.certificates import Authority
from testing.fakes.fleet.vendors import VENDORS
from testing.server_under_test import ServerUnderTest, server
from tests.unit.wires.redfish.one_bmc import OneBmc, one_bmc

URL = "https://192.0.2.1:8080/ab/h0.iso"
CERTIFICATES = "/redfish/v1/Systems/1/VirtualMedia/Cd/Certificates"
OWN, OF_A_KILLED_RUN = (ServerCertificate.of("192.0.2.1").pem for _ in range(2))
FOREIGN = Authority.create("the site's own").pem
HTTP_ONLY = ("ami",)
"""The vendors that take no https."""


def error_of(it: ServerUnderTest) -> str:
    with pytest.raises(OkdBaremetalError) as caught:
        it.from_start_to_end()
    return str(caught.value)


@pytest.mark.parametrize("vendor", [*(name for name in VENDORS if name not in HTTP_ONLY), "gb300_https"])
def test_each_vendor_installs_over_tls_and_is_left_as_found(tmp_path: Path, vendor: str) -> None:
    with server(tmp_path, vendor, over_tls=True) as it:
        found = it.fleet.state()
        it.from_start_to_end()
        assert it.is_installed()
        assert it.fleet.figures().fetched
        assert {url.partition(":")[0] for url in it.fleet.figures().inserts} == {"https"}
        state = it.fleet.state()
        assert (state.verifies, state.certificates) == (found.verifies, [])


@pytest.mark.parametrize("vendor", HTTP_ONLY)
def test_a_bmc_that_takes_no_https_is_refused_and_reads_nothing(tmp_path: Path, vendor: str) -> None:
    """Its fix is done to the letter: with `media.plain_http`, the host is installed over plain HTTP."""
    with server(tmp_path, vendor, over_tls=True) as it:
        said = error_of(it)
        assert f"the BMC refuses the boot ISO from https://127.0.0.1:{it.media.server.port}: " in said
        assert "Fix: do what the BMC says; if it reads no ISO over TLS, remove the secret from its networkCon" in said
        assert "or set media.plain_http.<host> to true" in said
        assert it.fleet.figures().fetched == 0
        it.media.over_tls = False
        it.install()
        assert it.is_installed()


def test_a_bmc_that_takes_only_https_is_told_of_media_tls(tmp_path: Path) -> None:
    """Its fix is done to the letter."""
    with server(tmp_path, "gb300_https") as it:
        assert "some take an ISO only over https (media.tls)" in error_of(it)
        it.media.over_tls = True
        it.install()
        assert it.is_installed()


@pytest.mark.parametrize("vendor", ["generic_tls", "generic_strict"])
def test_a_bmc_that_verifies_reads_nothing_of_another_server(
    tmp_path: Path, vendor: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whoever answers in place of the media server has another key."""
    with server(tmp_path, vendor, over_tls=True) as it:
        monkeypatch.setattr(it.media.server, "certificate", lambda _: OWN)
        said = error_of(it)
        assert "never fetched the boot ISO from https://127.0.0.1:" in said
        assert "; if it reads no ISO over TLS, " in said
        assert it.fleet.figures().fetched == 0


@pytest.fixture
def it() -> Iterator[OneBmc]:
    with one_bmc("generic_tls") as made:
        yield made


@pytest.mark.parametrize(
    ("verifies", "certificates", "left"),
    [
        pytest.param(False, {}, (False, []), id="off"),
        pytest.param(True, {}, (True, []), id="on-by-the-bmcs-own-authorities"),
        pytest.param(False, {"1": FOREIGN}, (False, [FOREIGN]), id="off-with-a-certificate"),
        pytest.param(True, {"1": FOREIGN}, (True, [FOREIGN]), id="on-with-a-certificate"),
        pytest.param(False, {"2": OF_A_KILLED_RUN}, (False, []), id="off-after-a-kill"),
        pytest.param(False, {"1": FOREIGN, "2": OF_A_KILLED_RUN}, (False, [FOREIGN]), id="one-kept-after-a-kill"),
    ],
)
def test_a_drive_verifies_while_it_is_full_and_then_as_before(
    it: OneBmc, verifies: bool, certificates: dict[str, str], left: tuple[bool, list[str]]
) -> None:
    it.fleet.change(0, verifies=verifies, certificates=certificates)
    bmc = it.client()
    bmc.insert(URL, OWN)
    state = it.fleet.state()
    assert state.verifies
    assert OWN in state.certificates
    assert OF_A_KILLED_RUN not in state.certificates
    assert bmc.media() == URL
    bmc.eject()
    state = it.fleet.state()
    assert (state.verifies, state.certificates) == left


@pytest.mark.parametrize(
    ("certificates", "left"),
    [
        pytest.param({"1": OF_A_KILLED_RUN}, (False, []), id="its-certificate-alone"),
        pytest.param({"1": FOREIGN, "2": OF_A_KILLED_RUN}, (True, [FOREIGN]), id="beside-another"),
        pytest.param({"1": FOREIGN}, (True, [FOREIGN]), id="no-certificate-of-this-program"),
        pytest.param({}, (True, []), id="none"),
    ],
)
def test_the_certificate_of_a_killed_run_goes_with_its_iso(
    it: OneBmc, certificates: dict[str, str], left: tuple[bool, list[str]]
) -> None:
    it.fleet.change(0, verifies=True, certificates=certificates, image=URL)
    bmc = it.client()
    assert bmc.media() == URL
    bmc.eject()
    state = it.fleet.state()
    assert (state.verifies, state.certificates, state.image) == (*left, "")


@pytest.mark.parametrize("verifies", [False, True])
def test_the_next_run_replaces_the_certificate_of_a_full_drive(it: OneBmc, *, verifies: bool) -> None:
    """The image stays, since firmware may be about to boot it."""
    it.fleet.change(0, verifies=verifies, certificates={"1": OF_A_KILLED_RUN}, image=URL)
    bmc = it.client()
    assert bmc.media() == URL
    bmc.trust(OWN)
    state = it.fleet.state()
    assert (state.image, state.verifies, state.certificates) == (URL, True, [OWN])
    assert not any("Media" in line.rpartition("/")[2] for line in it.writes)


@pytest.mark.parametrize("status", [400, 405, 409, 501])
def test_a_bmc_that_takes_no_certificate_is_still_offered_the_iso(it: OneBmc, status: int) -> None:
    it.answers(f"POST {CERTIFICATES}", status)
    bmc = it.client()
    bmc.insert(URL, OWN)
    assert bmc.media() == URL
    assert not it.fleet.state().verifies


def test_without_a_certificate_no_setting_of_the_drive_is_touched(it: OneBmc) -> None:
    """As over plain HTTP, and for the site's own web server."""
    bmc = it.client()
    bmc.insert(URL)
    assert bmc.media() == URL
    bmc.eject()
    assert not any("Certificates" in line or line.startswith("PATCH") for line in it.lines)


def test_a_drive_that_refuses_the_image_keeps_no_certificate(it: OneBmc) -> None:
    it.answers("POST.*InsertMedia", 400)
    bmc = it.client()
    with pytest.raises(OkdBaremetalError):
        bmc.insert(URL, OWN)
    state = it.fleet.state()
    assert (state.verifies, state.certificates) == (False, [])
