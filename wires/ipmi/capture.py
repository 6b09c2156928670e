"""A copy of what the program reads by IPMI, for a report about a BMC: raw answers, without what names the server."""

from collections.abc import Callable
from typing import Any

from pydantic import SecretStr

from base.errors import BmcRefusedError
from base.masking import Secrets
from wires.bmc.access import LIMITS, BmcAccess, Limits
from wires.ipmi.bmc import CHASSIS, DEVICE_ID, FRU_AREA, GET_BOOT, GUID, IpmiBmc
from wires.ipmi.flags import PARAMETER
from wires.ipmi.probe import LAN_SETTING, SUITE_PRIVILEGES, SUITES_ALLOWED
from wires.ipmi.session import CAPABILITIES, EXTENDED, THIS_CHANNEL, Command

NAMES_SERVER = (GUID,)
"""Reads whose answer names the server: of it, only the length is shown."""
READS: tuple[tuple[Command, bytes], ...] = (
    (CAPABILITIES, bytes((THIS_CHANNEL | EXTENDED, 4))),
    (DEVICE_ID, b""),
    (CHASSIS, b""),
    (GET_BOOT, bytes((PARAMETER, 0, 0))),
    (GUID, b""),
    (FRU_AREA, b"\0"),
    (LAN_SETTING, bytes((THIS_CHANNEL, SUITES_ALLOWED, 0, 0))),
    (LAN_SETTING, bytes((THIS_CHANNEL, SUITE_PRIVILEGES, 0, 0))),
)


class IpmiCapture(IpmiBmc):
    """Reads all that the program may read of one BMC."""

    def __init__(self, access: BmcAccess, password: SecretStr, limits: Limits = LIMITS) -> None:
        super().__init__(access, password, limits)
        value = password.get_secret_value()
        self._mask = Secrets(value, value.encode().hex(" "), shortest=1)

    def tree(self, on_read: Callable[[str], None]) -> dict[str, Any]:
        """Return the answers by the request, in hexadecimal digits.

        Raises:
            BmcError: The BMC does not answer, or refuses the login. A refusal of one request is an answer.
        """
        answers = dict[str, str]()
        for command, data in READS:
            name = f"{command.name} {data.hex(' ')}".strip()
            on_read(name)
            try:
                answer = self._ask(f"read {command.name}", command, data)
            except BmcRefusedError as error:
                answers[name] = error.fault.what
            else:
                answers[name] = f"{len(answer)} bytes" if command in NAMES_SERVER else answer.hex(" ")
        on_read("the inventory")
        named = self._read_inventory()
        answers["inventory"] = f"{named.manufacturer} {named.model}, serial of {len(named.serial)} characters".strip()
        session = f"cipher suite {self._opened_session().suite.number}, {self._opened_session().level}"
        resources = {name: self._mask.mask(answer) for name, answer in answers.items()}
        return {"system": self._server.kind, "session": session, "resources": resources}
