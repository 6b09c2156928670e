"""`discover`: read what servers are from their BMCs, and change nothing."""

import argparse
import sys
from concurrent.futures import as_completed
from datetime import UTC, datetime
from pathlib import Path

from base.errors import one_line
from cli.discover.addresses import targets_of
from cli.discover.logins import MOST_REFUSED, read_logins
from cli.discover.page import write
from cli.discover.table import lines_of
from cli.shared.command import Command
from cli.shared.command_line import EXIT_INVALID, EXIT_OK
from cli.shared.interrupts import threads
from cluster.inventory.model import DiscoveredServer, Inventory, Unread
from providers.pulumi.workers import WORKERS


def _add_arguments(parser: argparse.ArgumentParser) -> None:
    what = "a BMC: an address, a range (10.0.0.10-40), a network (10.0.0.0/26), or a bmc.address"
    parser.add_argument("addresses", nargs="*", metavar="ADDRESS", help=what)
    parser.add_argument("--from", dest="file", type=Path, metavar="FILE", help="a file of more of them, one per line")
    what = f"a list of username and password, tried in its order, {MOST_REFUSED} at most per BMC; - is standard input"
    parser.add_argument("--logins", type=Path, required=True, metavar="FILE", help=what)
    parser.add_argument("--ca", type=Path, metavar="FILE", help="PEM of the CA of the BMCs' certificates")
    what = "send the logins to whatever answers; the certificates' fingerprints are in the JSON"
    parser.add_argument("--trust-any-certificate", action="store_true", help=what)
    parser.add_argument(
        "--json", action="store_true", help="print JSON, which `init --discover` reads, in place of tables"
    )
    what = "also write a page of the servers, which a click sorts, with what stops each"
    parser.add_argument("--html", type=Path, metavar="FILE", help=what)


def discover(options: argparse.Namespace) -> int:
    """Read what each server is from its BMC over Redfish, and print it.

    Boot nothing, and write nothing to any BMC. Each BMC gets 40 requests at most, one at a time, all BMCs side by
    side. What a BMC does not tell is printed as such, with the reason. Exit code 2: a BMC was not read, or none was
    found.
    """
    targets, logins = targets_of(options.addresses, options.file), read_logins(options.logins)
    from cli.discover.reading import Reader, read_ca  # noqa: PLC0415 (imports sushy, which `--help` does not need)

    ca = read_ca(options.ca) if options.ca else ""
    reader = Reader(logins, ca, verify=not options.trust_any_certificate)
    with threads(min(WORKERS, len(targets))) as pool:
        reads = {pool.submit(reader.read, target): target for target in targets}
        for number, read in enumerate(as_completed(reads), start=1):
            print(
                one_line(f"{number}/{len(reads)} {reads[read].address}: {_verdict(read.result())}"), file=sys.stderr
            )
    found = [one for read in reads for one in read.result()]
    inventory = Inventory(
        dated=datetime.now(UTC).replace(microsecond=0),
        servers=tuple(one for one in found if isinstance(one, DiscoveredServer)),
        unread=tuple(one for one in found if isinstance(one, Unread)),
    )
    print(inventory.model_dump_json(indent=2) if options.json else "\n".join(lines_of(inventory)))
    if options.html:
        write(options.html, inventory)
    is_whole = bool(inventory.servers) and all(it.silent for it in inventory.unread)
    return EXIT_OK if is_whole else EXIT_INVALID


def _verdict(read: list[DiscoveredServer | Unread]) -> str:
    """Return what became of an address, in a few words."""
    servers = sum(isinstance(one, DiscoveredServer) for one in read)
    unread = [one.why for one in read if isinstance(one, Unread) and not one.silent]
    return "; ".join(unread) or (f"{servers} servers" if servers != 1 else "1 server")


COMMAND = Command(discover, _add_arguments)
