"""The page of `discover --html`: one table of servers that a click sorts, and what stops each."""

from pathlib import Path

from assets.templates import templates_in
from base.errors import one_line
from base.files import write_private
from cli.discover.table import CARDS, DISKS, SERVERS, cells, unread_lines
from cli.shared.command_line import writing
from cluster.inventory.choice import stops
from cluster.inventory.model import DiscoveredServer, Inventory

TEMPLATES = templates_in(Path(__file__).parent)


def write(file: Path, inventory: Inventory) -> None:
    """Write the page.

    Raises:
        ConfigError: It cannot be written.
    """
    with writing(file, "name a file in a folder that is writable"):
        write_private(file, html(inventory))


def html(inventory: Inventory) -> str:
    """Return the page, which loads nothing. Servers of one rack stand together, as far as their BMCs know it."""
    in_racks = sorted(inventory.servers, key=lambda it: (not it.rack, it.rack))
    servers = [_server(it) for it in in_racks]
    return TEMPLATES.get_template("page.html.j2").render(
        title=f"Servers on {inventory.dated:%Y-%m-%d %H:%M} UTC",
        columns=list(SERVERS),
        servers=servers,
        stopped=sum(bool(server["stops"]) for server in servers),
        unread=[one_line(line) for line in unread_lines(inventory)],
    )


def _server(server: DiscoveredServer) -> dict[str, object]:
    kind = " ".join(filter(None, (server.manufacturer, server.model, server.tag or server.serial)))
    return {
        "name": one_line(f"{server.bmc}: {kind}" if kind else server.bmc),
        "cells": cells(SERVERS, server),
        "stops": [one_line(line) for line in stops(server)],
        "parts": [
            (list(CARDS), [cells(CARDS, card) for card in server.cards]),
            (list(DISKS), [cells(DISKS, disk) for disk in server.disks]),
        ],
        "gaps": [one_line(f"{gap.what}: {gap.why}") for gap in server.gaps],
    }
