"""The pseudonyms of a capture: the same one for the same value everywhere, so that links stay whole."""

import re
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from base.masking import secret_keys
from wires.bmc.identity import is_shared
from wires.redfish.capture.filter import Rule, filter_document

UUID = re.compile(r"[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}", re.I)
FORMS = {
    "uuid": "00000000-0000-4000-8000-{:012d}",
    "serial": "SERIAL{:04d}",
    "mac": "02:00:00:00:00:{:02x}",
    "wwn": "500000000000{:04x}",
    "": "masked-{}",
}
"""The pseudonym of each kind of value, with its number."""
IDENTIFYING_KEYS = secret_keys(
    *("address", "asset", "community", "credential", "fqdn", "guid", "host", "key", "mail", "mac", "phone", "serial"),
    *("sku", "tag", "user", "uuid"),
)
"""The names of properties whose values must not be left in a text that repeats them: secrets, and what identifies."""
SHORTEST = 4
"""Characters of such a value. Shorter ones occur in any text."""
LONGEST = 1024
"""Characters of a text or part of a path. A longer one is no name and no version, and is replaced as a whole."""
FORBIDDEN = (
    r"[a-z][a-z0-9+.-]{0,30}://\S+",  # a URL
    r"[\w.+-]{1,64}@[\w-]{1,63}\.[\w.-]+",  # a mail address
    UUID.pattern,
    r"(?:[0-9a-f]{2}[:-]){5}[0-9a-f]{2}",  # a MAC address
    r"(?:[0-9a-f]{0,4}:){2,7}[0-9a-f]{0,4}",  # an IPv6 address
    r"[0-9a-f]{32,}",
)
"""What no text has, by its form."""
IPV4 = re.compile(r"(?<!\d)\d++(?:\.\d++){3}")
"""Also the form of an iDRAC's version."""
PATH_WORD = re.compile(
    "action|actions|adapters|ami|attributes|baseboard|bios|bluefield|bmc|boot|cd|chassis|cimc|computer|config|control"
    "|controller|cpu|dell|device|dgx|disc|disk|dpu|drac|drives|dvd|eject|embedded|enable|ethernet|ext|fd|floppy|functions"
    "|gpu|hd|hdd|hgx|hpe|i|idrac|ilo|info|insert|interfaces|lenovo|lifecycle|manager|managers|media|network|nic|nvidia"
    "|oem|pending|processors|r|rdoc|redfish|remote|removable|reset|sd|secure|self|service|settings|slot|socket|stick"
    "|storage|supermicro|system|systems|usb|v|virtual|vm|vmm|volume|volumes|xcc|[0-9]{1,2}",
    re.I,
)
"""The words of a part of a path that is kept: Redfish's, the vendors', and short numbers.

There are BMCs whose paths have a machine's serial number, or the name that its operator gave it.
"""
MOST_NUMBERS = 2
KEPT_TYPES: dict[Rule, tuple[type, ...]] = {Rule.PLAIN: (bool,), Rule.NUMBER: (int, float)}
"""The types of values that a rule keeps as they are."""
WORDS_IN = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+|[^A-Za-z\d._-]")
TERM = re.compile(r"RAID\d{1,2}(?:TP)?|None|EIA_310|x86(?:-64)?|ARM-A(?:32|64)|[A-Za-z]{1,20}")
PCI = re.compile(r"PciRoot\(0x[0-9A-F]{1,4}\)(?:/Pci\(0x[0-9A-F]{1,2},0x[0-9A-F]{1,2}\))*", re.I)
TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:Z|[+-]\d\d:\d\d)?")
WORD = re.compile("[A-Za-z]{1,40}(?:-[A-Za-z]{1,10})?")
MESSAGE = re.compile(r"(?:[A-Za-z]{1,30}(?:\.\d{1,3}){1,3}\.)?[A-Za-z]{1,60}\d{0,4}")
SCHEME = re.compile("(?:https?|nfs|cifs|smb|t?ftp|file):", re.I)
AUTHORITY = 2
"""The index of the host in a URL that is split at its slashes."""
PORT = re.compile(r":\d{1,5}$")


class Pseudonyms:
    """Replaces what identifies a machine, its site or its users.

    Args:
        documents: All documents of a BMC, as it answered them: also what is not kept must not be left in any text.
        known: More such values: the address of the BMC, the user of the login.
    """

    def __init__(self, documents: Iterable[Any], *known: str) -> None:
        identifying = (value for document in documents for value in _identifying(document))
        values = {value for value in (*known, *identifying) if len(value) >= SHORTEST and not is_shared(value)}
        longest_first = sorted((value for value in values if not _is_plain(value)), key=len, reverse=True)
        # In one pass: the pseudonym of a UUID is one, too.
        self._forbidden = re.compile("|".join((*map(re.escape, longest_first), *FORBIDDEN)), re.I)
        self._made: dict[str, str] = {}
        self._counts = dict.fromkeys(FORMS, 0)
        self._rules: dict[Rule, Callable[[str], str]] = {
            Rule.LINK: self.path,
            Rule.TARGET: self.path,
            Rule.ID: self.path,
            Rule.IDENTITY: self._identity,
            Rule.IMAGE: self._image,
            Rule.TEXT: lambda text: IPV4.sub(self._pseudonym_of, self._text(text)),
            Rule.VERSION: self._text,
            Rule.WORD: lambda text: text if WORD.fullmatch(text) else self._pseudonym(text),
            Rule.TERM: lambda text: text if TERM.fullmatch(text) else self._pseudonym(text),
            Rule.MAC: lambda text: self._pseudonym(text, "mac"),
            Rule.WWN: lambda text: self._pseudonym(text, "wwn"),
            Rule.PCI: lambda text: place.group() if (place := PCI.match(text)) else self._pseudonym(text),
            Rule.TIME: lambda text: text if TIME.fullmatch(text) else self._pseudonym(text),
            Rule.MESSAGE: lambda text: self._text(text) if MESSAGE.fullmatch(text) else self._pseudonym(text),
        }

    def masked(self, document: dict[str, Any]) -> dict[str, Any]:
        """Return what is kept of a document, with pseudonyms."""
        return filter_document(document, self._leaf)

    def path(self, path: str) -> str:
        """Return the path of a resource, or its last part."""
        return "/".join(map(self._part, path.split("/")))

    def _leaf(self, rule: Rule, value: Any) -> Any:
        if value == "" or isinstance(value, KEPT_TYPES.get(rule, ())):
            return value
        return self._rules.get(rule, self._pseudonym)(str(value))

    def _part(self, part: str) -> str:
        return part if _is_plain(part) and not self._forbidden.search(part) else self._pseudonym(part)

    def _identity(self, value: str) -> str:
        """Return a value that many machines share as it is."""
        return value if is_shared(value) else self._pseudonym(value, "serial")

    def _image(self, image: str) -> str:
        return "/".join(self._image_part(at, part) for at, part in enumerate(image.split("/")))

    def _image_part(self, at: int, part: str) -> str:
        """Return a part of an image's URL. Its form is kept with port and extension, since BMCs differ in them."""
        if not part or SCHEME.fullmatch(part):
            return part
        if at == AUTHORITY:
            host, port = part.rpartition("@")[2], PORT.search(part)
            return self._pseudonym(PORT.sub("", host)) + (port.group() if port else "")
        return self._pseudonym(part) + (".iso" if part.lower().endswith(".iso") else "")

    def _text(self, text: str) -> str:
        return self._forbidden.sub(self._pseudonym_of, text) if len(text) <= LONGEST else self._pseudonym(text)

    def _pseudonym_of(self, match: re.Match[str]) -> str:
        return self._pseudonym(match.group())

    def _pseudonym(self, value: str, kind: str = "") -> str:
        """Return the pseudonym of a value, whether it is in upper or lower case."""
        key = value.lower()
        if key not in self._made:
            kind = "uuid" if UUID.fullmatch(value) else kind
            self._counts[kind] += 1
            self._made[key] = FORMS[kind].format(self._counts[kind])
        return self._made[key]


def _is_plain(part: str) -> bool:
    """Whether a part of a path has only known words, and fewer numbers than an address."""
    if len(part) > LONGEST:
        return False
    words = WORDS_IN.findall(part)
    return all(map(PATH_WORD.fullmatch, words)) and sum(map(str.isdigit, words)) <= MOST_NUMBERS


def _identifying(value: Any, name: str = "") -> Iterator[str]:
    """Yield the values of the properties `IDENTIFYING_KEYS`."""
    match value:
        case dict():
            for key, member in value.items():
                yield from _identifying(member, key)
        case list():
            for member in value:
                yield from _identifying(member, name)
        case str() if IDENTIFYING_KEYS.search(name):
            yield value
