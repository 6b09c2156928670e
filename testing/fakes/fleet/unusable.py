"""BMCs through which this program cannot install, as data: their resources in place of a usable virtual CD.

Their shapes are those of captured trees, or of reports from the field where the comment says so.
"""

from dataclasses import replace

from testing.fakes.fleet.parts import Slot
from testing.fakes.fleet.vendors import GB300, GENERIC, SUPERMICRO, VENDORS

# D5: it accepts images only over https.
GB300_HTTPS = replace(GB300, name="gb300_https", media_schemes=("https",))

# D5: a 2288H V5, from a report and from Huawei's own tools: no InsertMedia, no PATCH, an action of its own.
HUAWEI = replace(
    GENERIC,
    name="huawei",
    manufacturer="Huawei",
    model="2288H V5",
    bmc_model="iBMC",
    slots=(Slot("CD", action=False, own_action="VirtualMedia.VmmControl"),),
)

# D12: a CD that only a console's applet can fill.
SUPERMICRO_X11 = replace(SUPERMICRO, name="supermicro_x11", model="X11DPi", slots=(Slot("CD1", action=False),))

# D12: an empty collection, beside the vendor's own method to mount an image.
SUPERMICRO_X10 = replace(SUPERMICRO, name="supermicro_x10", model="X10DRi", slots=(), media_config=True)

# D12: an empty collection, as without a licence.
INTEL = replace(GENERIC, name="intel", manufacturer="Intel Corporation", model="S2600BP", slots=())

# D12: drives, but none for a disc.
STICKS = replace(GENERIC, name="sticks", slots=(Slot("Stick", ("USBStick",)),))

# D12: a DPU in place of its server.
BLUEFIELD = replace(
    GENERIC,
    name="bluefield",
    manufacturer="Nvidia",
    model="BlueField-3 DPU",
    system="Bluefield",
    manager="Bluefield_BMC",
    system_type="DPU",
    slots=(),
    media_on="",
)

# A captured BlueField 23.10 (NVIDIA/bare-metal-manager-core 7778162): its SystemType says Physical. It boots by HTTP.
BLUEFIELD_23 = replace(
    BLUEFIELD,
    name="bluefield_23",
    model="BlueField-3 SmartNIC Main Card",
    system_type="Physical",
    http_boot=True,
    targets=("None", "Pxe", "UefiHttp"),
)

# DSP2043, smartnic: a DPU whose Manager is that of its server, and links the drives of that.
SMARTNIC = replace(GENERIC, name="smartnic", model="SmartNIC", system="DPU1", system_type="DPU")

# An iRMC S4: an empty collection, and an action of the System (fujitsu.primergy's irmc_connect_vm).
IRMC = replace(
    GENERIC,
    name="irmc",
    manufacturer="FUJITSU",
    model="PRIMERGY RX2540 M4",
    bmc_model="iRMC S4",
    slots=(),
    own_action="http://ts.fujitsu.com/redfish-schemas/v1/FTSSchema.v1_0_0#FTSComputerSystem.VirtualMedia",
)

# D12: the board of the GPUs in place of its server.
HGX = replace(
    GENERIC,
    name="hgx",
    manufacturer="NVIDIA",
    model="HGX H100",
    system="HGX_Baseboard_0",
    manager="HGX_BMC_0",
    boots=False,
    slots=(),
    media_on="",
)

_ALL = (
    *(GB300_HTTPS, HUAWEI, SUPERMICRO_X11, SUPERMICRO_X10, INTEL, STICKS, IRMC),
    *(BLUEFIELD, BLUEFIELD_23, SMARTNIC, HGX),
)
UNUSABLE = {vendor.name: vendor for vendor in _ALL}
EVERY = VENDORS | UNUSABLE
"""All rows that a fleet can have."""
