"""docs/reference/okd-baremetal.profile.json: what this program needs of a BMC, as a DMTF interoperability profile.

The form is that of DSP0272; the values are those of the tables in wires/redfish. `make accept` rewrites the document.
Each use case is one need. `AnyOf` holds if a resource of the service has one of the values. `IfImplemented` accepts a
BMC that does not report what it allows, as sushy does.
"""

import json
from collections.abc import Iterable
from typing import Any

from sushy.resources.system.constants import SystemType

from testing.checkout import ROOT
from wires.bmc.client import CD, SPELLINGS, UEFI, Power
from wires.redfish.boot.network import HTTP_BOOT_URI
from wires.redfish.drives.discs import ACTIONS, DISC
from wires.redfish.sushy_bmc import MODE, RESET

DOCUMENT = ROOT / "docs" / "reference" / "okd-baremetal.profile.json"
TARGET, ALLOWED = "BootSourceOverrideTarget", "@Redfish.AllowableValues"
INSERT = f"/Actions/{ACTIONS[0]}"
Need = dict[str, Any]
MANDATORY: Need = {"ReadRequirement": "Mandatory"}
RECOMMENDED: Need = {"ReadRequirement": "Recommended"}
NOT_ASKED: Need = {"ReadRequirement": "None", "WriteRequirement": "None"}
OF_A_SERVER: Need = {"UseCaseKeyProperty": "Boot", "UseCaseComparison": "Present", "UseCaseKeyValues": []}
"""A use case of the systems with Boot: the board of GPUs beside a server has none."""


def text() -> str:
    """Return the document."""
    return json.dumps(profile(), indent=2) + "\n"


def profile() -> Need:
    """Return the profile."""
    return {
        "SchemaDefinition": "RedfishInteroperabilityProfile.v1_10_0",
        "ProfileName": "okd-baremetal",
        "ProfileVersion": "1.0.0",
        "Purpose": "What okd-baremetal needs of a BMC to install its server through a virtual CD",
        "OwningEntity": "okd-baremetal",
        "License": "Apache License, Version 2.0",
        "Resources": {
            "ComputerSystem": {"UseCases": [*_servers(), *map(_switched, RESET)]},
            "VirtualMedia": {"UseCases": [{"UseCaseTitle": "A boot ISO fits a drive", **MANDATORY, **_drives()}]},
            "SecureBoot": {**RECOMMENDED, "PropertyRequirements": {"SecureBootEnable": _for("UEFISecureBoot")}},
        },
    }


def _servers() -> list[Need]:
    kinds = [kind.value for kind in SystemType if kind is not SystemType.DPU]
    settings = {"CompareProperty": "/@Redfish.Settings", "CompareType": "Present", **MANDATORY}
    boot = {
        "WriteRequirement": "Mandatory",
        "ConditionalRequirements": [settings],
        "PropertyRequirements": {
            TARGET: MANDATORY,
            f"{TARGET}{ALLOWED}": _any_of(SPELLINGS[CD]),
            "BootSourceOverrideEnabled": MANDATORY,
            f"{MODE}{ALLOWED}": _any_of([UEFI]),
            HTTP_BOOT_URI: _for("redfish-uefihttp"),
        },
    }
    return [
        _server("A server, not a DPU", SystemType=_any_of(kinds)),
        _server("Its identity can be read", UUID={**MANDATORY, "ReplacedByProperty": "SerialNumber"}),
        _server("Its power can be read", PowerState=MANDATORY),
        _server("It boots the virtual CD once, then its disk", Boot={**MANDATORY, **boot}),
    ]


def _switched(power: Power) -> Need:
    reset = {f"ResetType{ALLOWED}": _any_of(kind.value for kind in RESET[power])}
    actions = {"#ComputerSystem.Reset": {**MANDATORY, "PropertyRequirements": reset}}
    return _server(f"It can be switched {power.value}", Actions={**MANDATORY, "PropertyRequirements": actions})


def _drives() -> Need:
    """At least one drive takes an image, by InsertMedia, else by PATCH.

    TransferProtocolType OEM marks a drive that only a browser fills (OpenBMC's proxy mode, bmcweb virtual_media.hpp).
    A BMC that has no other drives passes: DSP0272 cannot ask for one of several resources there.
    """
    from_browser = {"CompareProperty": "TransferProtocolType", "CompareType": "Equal", "CompareValues": ["OEM"]}
    image = {
        **MANDATORY,
        "WriteRequirement": "Supported",
        "ReplacedByProperty": INSERT,
        "ConditionalRequirements": [{**from_browser, **NOT_ASKED}],
    }
    return {"PropertyRequirements": {"MediaTypes": _any_of(sorted(kind.value for kind in DISC)), "Image": image}}


def _server(title: str, **properties: Need) -> Need:
    return {"UseCaseTitle": title, **OF_A_SERVER, **MANDATORY, "PropertyRequirements": properties}


def _any_of(values: Iterable[str]) -> Need:
    return {"ReadRequirement": "IfImplemented", "Comparison": "AnyOf", "Values": list(values)}


def _for(value: str) -> Need:
    return {**RECOMMENDED, "Purpose": f"For hosts with {value}"}


def main() -> None:
    """Rewrite the document."""
    DOCUMENT.write_text(text())


if __name__ == "__main__":
    main()
