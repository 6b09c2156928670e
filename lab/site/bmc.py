"""The BMC of all servers: sushy-emulator behind TLS and a password, on the network `provisioning`."""

import contextlib
import re
import sys
from collections import Counter
from collections.abc import Iterable
from pathlib import Path

import bcrypt

from lab.inventory import BmcListener, Site
from lab.shell import LabError, run
from lab.site.network import is_listening
from lab.site.paths import BMC, BMC_POOL_NAME, LIBVIRT_URI, NAMESPACE
from lab.site.processes import Daemon, wait_until
from lab.templates import render
from testing.certificates import Authority

CA = BMC / "ca.crt"

_DEADLINE_S = 30.0  # 0.5 s on two idle cores (2026-11)
_BCRYPT_COST = 5  # low, since each request pays it: sushy-tools 2.2.0 has no sessions
_ESCAPE = re.compile(r"\x1b\[[0-9;]*m")  # werkzeug colours what it logs
_REQUEST = re.compile(r'"(?P<method>[A-Z]+) (?P<path>/\S*) HTTP/')
_SYSTEM = re.compile(r"/redfish/v1/(?:Systems|Managers|Chassis)/([^/?]+)")
_READING = frozenset({"GET", "HEAD", "OPTIONS"})

daemon = Daemon("sushy-emulator")


def ensure_bmc(site: Site, *, restart: bool) -> None:
    """Run the emulator; `restart` it after libvirtd, as it never reconnects (only 500s, sushy-tools 2.2.0)."""
    config, wanted = BMC / "sushy-emulator.conf", _config(site)
    unchanged = config.exists() and config.read_text() == wanted and _credentials_fit(site.bmc)
    if daemon.pid and unchanged and not restart:
        return
    daemon.stop()
    _ensure_certificates(site.bmc)
    if not _credentials_fit(site.bmc):
        _write_credentials(site.bmc)
    config.write_text(wanted)
    # Not below the pool: libvirt would treat the folders of downloads there as volumes.
    downloads = BMC / "tmp"
    downloads.mkdir(exist_ok=True)
    program = Path(sys.executable).parent / "sushy-emulator"
    daemon.start(program, "--config", config, env={"TMPDIR": str(downloads), "PYTHONUNBUFFERED": "1"})
    daemon.await_ready(lambda: is_listening("tcp", site.bmc.address, site.bmc.port), _DEADLINE_S)
    wait_until(lambda: _shows_servers(site), f"all {len(site.uuids)} servers at the BMC", _DEADLINE_S)


def writes() -> Counter[str]:
    """Count the changing requests since `up`, by the system's UUID; those to the service itself under "".

    Media belong to a manager, whose id is its system's.
    """
    with contextlib.suppress(FileNotFoundError), daemon.log.open(errors="replace") as log:
        return count_writes(log)
    return Counter()


def count_writes(lines: Iterable[str]) -> Counter[str]:
    """Count the changing requests of an access log, by the system or manager in their path."""
    found = Counter[str]()
    for line in lines:
        request = _REQUEST.search(_ESCAPE.sub("", line))
        if request and request["method"] not in _READING:
            system = _SYSTEM.match(request["path"])
            found[system[1] if system else ""] += 1
    return found


def _config(site: Site) -> str:
    values = {"bmc": BMC, "libvirt_uri": LIBVIRT_URI, "pool": BMC_POOL_NAME}
    return render("site/files/sushy-emulator.conf.j2", site=site, **values)


def _ensure_certificates(listener: BmcListener) -> None:
    if CA.exists():
        return
    authority = Authority.create("lab-bmc-ca")
    server = authority.issue([str(listener.address)], [listener.address])
    _write_private(BMC / "server.key", server.key)
    (BMC / "server.crt").write_text(server.certificate)
    CA.write_text(authority.pem)  # last: its presence means that the others exist


def _write_credentials(listener: BmcListener) -> None:
    password = listener.password.get_secret_value().encode()
    digest = bcrypt.hashpw(password, bcrypt.gensalt(_BCRYPT_COST)).decode()
    _write_private(BMC / "htpasswd", f"{listener.username}:{digest}\n")


def _credentials_fit(listener: BmcListener) -> bool:
    password = listener.password.get_secret_value().encode()
    try:
        username, _, digest = (BMC / "htpasswd").read_text().strip().partition(":")
        return username == listener.username and bcrypt.checkpw(password, digest.encode())
    except (OSError, ValueError):
        return False


def _write_private(path: Path, text: str) -> None:
    path.touch(mode=0o600)
    path.write_text(text)


def _shows_servers(site: Site) -> bool:
    listener = site.bmc
    login = f"{listener.username}:{listener.password.get_secret_value()}"
    url = f"https://{listener.address}:{listener.port}/redfish/v1/Systems"
    # By standard input: every user can read a password among the arguments.
    config = f'url = "{url}"\nuser = "{login}"\ncacert = "{CA}"\n'
    try:
        body = run(
            "ip", "netns", "exec", NAMESPACE, "curl", "-sS", "--fail", "--max-time", "5", "-K", "-", stdin=config
        )
    except LabError:
        return False
    return all(f"/redfish/v1/Systems/{uuid}" in body for uuid in site.uuids.values())
