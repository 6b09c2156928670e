"""Read a medium like a BMC: in pieces by Range, from the BMC's own address, over TLS where its URL says so."""

import asyncio
import re
import ssl
from urllib.parse import urlsplit

from testing.fakes.fleet.machine import Machine

LIMIT_S = 30
BLOCK = 1 << 16
SPAN = re.compile(rb"content-range: bytes \d+-\d+/(\d+)", re.IGNORECASE)


async def fetch(machine: Machine, url: str, address: str, pieces: int, piece_bytes: int) -> None:
    """Read the first pieces of the medium, each over a new connection, and count the bytes as they arrive.

    Raises:
        OSError: The medium cannot be read.
    """
    async with asyncio.timeout(LIMIT_S):
        for start in range(0, pieces * piece_bytes, piece_bytes):
            if start >= await _piece(machine, url, address, start, start + piece_bytes):
                return


async def _piece(machine: Machine, url: str, address: str, start: int, end: int) -> int:
    """Read a span, and return the size of the medium, or the end of the span if the size is unknown."""
    parts = urlsplit(url)
    tls = _trusting(machine, url) if parts.scheme == "https" else None
    port = parts.port or (443 if tls else 80)
    reader, writer = await asyncio.open_connection(parts.hostname, port, local_addr=(address, 0), ssl=tls)
    try:
        writer.write(
            f"GET {parts.path} HTTP/1.1\r\nHost: {parts.netloc}\r\nRange: bytes={start}-{end - 1}\r\n"
            "Connection: close\r\n\r\n".encode()
        )
        head = await reader.readuntil(b"\r\n\r\n")
        status = head.split(b" ", 2)[1]
        if status == b"416" and start:
            return start
        if status not in (b"200", b"206"):
            raise OSError(f"{url}: {status.decode()}")
        while block := await reader.read(BLOCK):
            machine.figures.fetched += len(block)
        size = SPAN.search(head)
        return int(size[1]) if size else end
    except asyncio.IncompleteReadError as error:
        raise OSError(f"{url}: no answer") from error
    finally:
        writer.close()


def _trusting(machine: Machine, url: str) -> ssl.SSLContext:
    """Return the TLS of the drive that has the medium: it verifies by its own certificates, or nothing."""
    drive = next(drive for drive in machine.drives.values() if drive.image == url)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    if not drive.verifies:
        context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    elif drive.certificates:
        context.load_verify_locations(cadata="".join(drive.certificates.values()))
    return context
