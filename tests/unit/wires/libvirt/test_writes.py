"""Every call of libvirt that may change something has the line of a write before it."""

import inspect
from collections.abc import Callable
from typing import Any
from unittest.mock import MagicMock

import pytest

from assets.contract import Word
from base.writes import Write
from wires.libvirt import connection
from wires.libvirt.connection import Libvirt
from wires.libvirt.hypervisor import DomainSpec, Hypervisor

READS = {
    *("lookupByName", "isActive", "metadata", "getInfo", "storagePoolLookupByName", "storageVolLookupByName"),
    *("refresh", "listVolumes", "path", "newStream", "download", "recvAll", "finish"),
    *("openChannel", "send", "recv", "abort"),
}
"""Calls of the library that change nothing by themselves; a word on the channel may, see below."""
PART_OF_MAKE = {"upload", "sendAll"}
"""Calls that fill a volume which was just made."""
VOLUME, DOMAIN = "volume images/a", "domain vm"
SPEC = DomainSpec("vm", "okd/lab", "b", 64, 1, emulated=True, disk="/d", ignition="/i", cards=())
CALLS: dict[str, tuple[Callable[[Libvirt], object], list[str]]] = {
    "find": (lambda it: it.find("vm"), []),
    "volume_path": (lambda it: it.volume_path("images", "a"), []),
    "volume_sha256": (lambda it: it.volume_sha256("images", "a"), []),
    "make_overlay": (
        lambda it: it.make_overlay("images", "a", base="/b", size_gib=1),
        [f"{VOLUME}: delete", f"{VOLUME}: make"],
    ),
    "make_private": (lambda it: it.make_private("images", "a", b"x"), [f"{VOLUME}: delete", f"{VOLUME}: make"]),
    "delete_volume": (lambda it: it.delete_volume("images", "a"), [f"{VOLUME}: delete"]),
    "define": (lambda it: it.define(SPEC), [f"{DOMAIN}: define"]),
    "start": (lambda it: it.start("vm"), [f"{DOMAIN}: start"]),
    "shut_down": (lambda it: it.shut_down("vm"), [f"{DOMAIN}: press the power button"]),
    "power_off": (lambda it: it.power_off("vm"), [f"{DOMAIN}: cut the power"]),
    "undefine": (lambda it: it.undefine("vm"), [f"{DOMAIN}: undefine"]),
    "ask": (lambda it: it.ask("vm", Word.HOLD), [f"{DOMAIN}: hold the API VIP"]),
}
"""By method: a call of it, and its writes. Before them, a volume of the name is there."""


class Recorded:
    """The library's objects, and the course of writes and of calls that are no reads."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.course: list[str] = []
        monkeypatch.setattr(connection, "make", self._make)
        self.library = MagicMock()
        for name in ("storagePoolLookupByName", "lookupByName", "newStream", "storageVolLookupByName", "createXML"):
            getattr(self.library, name).return_value = self.library
        self.library.listVolumes.return_value = ["a"]
        self.library.getInfo.return_value = ["x86_64"]
        self.library.metadata.return_value = "<mark/>"
        self.library.recv.return_value = b"held vip=yes api=yes\n"

    def _make(self, write: Write) -> None:
        self.course.append(str(write))
        self.library.mark(write)

    def changes(self) -> list[str]:
        """Return the writes, and the calls of the library that change something, in order."""
        calls = [(name.rpartition(".")[2], arguments) for name, arguments, _ in self.library.mock_calls]
        marked = [str(arguments[0]) if name == "mark" else name for name, arguments in calls]
        return [each for each in marked if each not in READS | PART_OF_MAKE and not each.startswith("__")]


def protocol() -> set[str]:
    return {name for name, _ in inspect.getmembers(Hypervisor, inspect.isfunction) if not name.startswith("_")}


def test_every_method_of_the_wire_has_a_row() -> None:
    assert CALLS.keys() == protocol()


@pytest.mark.parametrize("method", CALLS)
def test_each_change_follows_the_line_of_its_write(monkeypatch: pytest.MonkeyPatch, method: str) -> None:
    recorded = Recorded(monkeypatch)
    call, wanted = CALLS[method]
    call(Libvirt(recorded.library, "qemu:///system"))
    changes = recorded.changes()
    assert recorded.course == wanted
    sent = [name for name in changes if name not in wanted]
    assert len(sent) == len([write for write in wanted if "VIP" not in write])
    assert [name in wanted for name in changes] == [True, False] * len(sent) + [True] * (len(wanted) - len(sent))


def test_a_question_on_the_channel_is_no_write(monkeypatch: pytest.MonkeyPatch) -> None:
    recorded: Any = Recorded(monkeypatch)
    Libvirt(recorded.library, "qemu:///system").ask("vm", Word.STATUS)
    assert recorded.course == []
