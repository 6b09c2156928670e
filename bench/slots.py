"""The same installation with sushy's defaults, four hosts at a time, like a plain dynamic provider."""

import http.server
import ssl
import threading
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import sushy

from testing.fakes.fleet.fleet import Fleet
from testing.fakes.fleet.server import API_PORT

SLOTS = 4
"""Worker threads of Pulumi's Python plugin."""
POLL_S = 1.0


def install_all(fleet: Fleet, hosts: int, folder: Path) -> float:
    """Install all hosts, and return the seconds."""
    ca = folder / "ca.pem"
    ca.write_text(fleet.ca)
    with _served(folder) as url, ThreadPoolExecutor(SLOTS) as pool:
        began = time.monotonic()
        for _ in pool.map(partial(_install, fleet, str(ca), url), range(hosts)):
            pass
        return time.monotonic() - began


def _install(fleet: Fleet, ca: str, url: str, host: int) -> None:
    """Install one host, from Off to an API that answers."""
    options, path = fleet.options, fleet.address(host).removeprefix(f"redfish-virtualmedia+{fleet.base(host)}")
    root = sushy.Sushy(fleet.base(host), options.username, options.password, verify=ca)
    try:
        system = root.get_system(path)
        drive = _disc_drive(system)
        drive.eject_media()
        drive.insert_media(url)
        _boot(system, sushy.BootSource.CD)
        _until(lambda: _power(system) is sushy.PowerState.ON)
        _until(lambda: _power(system) is sushy.PowerState.OFF)
        drive.eject_media()
        _boot(system, sushy.BootSource.HDD)
        _until(lambda: _power(system) is sushy.PowerState.ON)
    finally:
        root._conn._auth.close()
    context = ssl.create_default_context(cafile=ca)
    context.check_hostname = False
    _until(partial(_is_ready, f"https://{fleet.node(host)}:{API_PORT}/readyz", context))


def _disc_drive(system: Any) -> Any:
    drives = [drive for manager in system.managers for drive in manager.virtual_media.get_members()]
    return next(drive for drive in drives if sushy.VirtualMediaType.CD in drive.media_types)


def _boot(system: Any, source: sushy.BootSource) -> None:
    once, mode = sushy.BootSourceOverrideEnabled.ONCE, sushy.BootSourceOverrideMode.UEFI
    system.set_system_boot_options(target=source, enabled=once, mode=mode)
    system.reset_system(sushy.ResetType.ON)


def _power(system: Any) -> sushy.PowerState:
    system.refresh()
    power: sushy.PowerState = system.power_state
    return power


def _is_ready(url: str, context: ssl.SSLContext) -> bool:
    try:
        urllib.request.urlopen(url, timeout=POLL_S, context=context).close()  # noqa: S310  (of this fleet)
    except urllib.error.URLError:
        return False
    return True


def _until(is_true: Callable[[], bool]) -> None:
    while not is_true():
        time.sleep(POLL_S)


@contextmanager
def _served(folder: Path) -> Iterator[str]:
    """Serve a dummy ISO, and yield its URL."""
    (folder / "boot.iso").write_bytes(bytes(1 << 20))

    class Handler(http.server.SimpleHTTPRequestHandler):
        def log_message(self, *_: Any) -> None:
            """Log nothing."""

    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), partial(Handler, directory=folder)) as server:
        threading.Thread(target=server.serve_forever).start()
        yield f"http://127.0.0.1:{server.server_address[1]}/boot.iso"
        server.shutdown()
