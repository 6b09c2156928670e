"""Differences between vendors' BMCs, as data.

They come from public sources (see docs/explanation/servers.md); none was observed on a real BMC. Times are in
requests or in seconds, as in the fleet's pace.
"""

from dataclasses import replace

from testing.fakes.fleet import parts
from testing.fakes.fleet.parts import DISC, Clearing, Refusal, Slot
from testing.fakes.fleet.vendor import Vendor

FLOPPY = Slot("Floppy", ("Floppy", "USBStick"))

GENERIC = Vendor("generic", "Contoso", "3500", "Contoso BMC", "1.45.455b66-rev4", "P79 v1.45", (FLOPPY, Slot("Cd")))

# "where VirtualMedia lives": newer firmware has it on the System.
GENERIC_SYSTEM = replace(
    GENERIC,
    name="generic_system",
    media_on="Systems",
    firmware=parts.STANDARD,
    targets=(*GENERIC.targets, "BiosSetup"),
)

# VerifyCertificate and Certificates as DSP0268 and sushy-tools have them.
GENERIC_TLS = replace(GENERIC_SYSTEM, name="generic_tls", verifies=False)
GENERIC_STRICT = replace(GENERIC_SYSTEM, name="generic_strict", verifies=True)

# HttpBootUri as the schema has it (DMTF, ComputerSystem 1.9 and later): null where nothing was set.
GENERIC_HTTP = replace(GENERIC_SYSTEM, name="generic_http", http_boot=True)

# A change of part of Boot is refused, as by AMI, and nothing names AMI.
GENERIC_WHOLE = replace(GENERIC, name="generic_whole", boot_whole=True)
# Captured BlueFields 23.10 and 24.10 (libredfish, bare-metal-manager-core): no Hdd. Here with a drive, too.
NO_HDD = replace(
    GENERIC_HTTP,
    name="no_hdd",
    model="BlueField-3 SmartNIC Main Card",
    targets=("None", "Pxe", "Cd", "UefiHttp", "UefiShell", "UefiTarget", "UefiBootNext"),
)

# community.general issue 11542: the mode must be sent with Disabled, too.
GENERIC_MODE = replace(
    GENERIC_SYSTEM,
    name="generic_mode",
    clearing=Clearing(needs=("BootSourceOverrideTarget", "BootSourceOverrideMode")),
)

# D1: it reports only the file name of its image.
GENERIC_NAME = replace(GENERIC, name="generic_name", image_as="name")

# "eject | HPE iLO, Dell" (asynchronous eject); section 3's prototype and sushy's sources for VRM0009 and VRM0012;
# PSU501 of Dell's Event and Error Message Reference Guide: the server has that power already.
DELL = Vendor(
    "dell",
    "Dell Inc.",
    "PowerEdge R650",
    "14G Monolithic",
    "6.10.30.00",
    "1.8.2",
    (Slot("RemovableDisk", ("USBStick",)), Slot("CD")),
    system="System.Embedded.1",
    manager="iDRAC.Embedded.1",
    sku="TAG{index:04}",
    targets=("None", "Pxe", "Floppy", "Cd", "Hdd", "BiosSetup", "Utilities", "UefiTarget", "SDCard", "UefiHttp"),
    insert_full=Refusal(400, "IDRAC.2.8.VRM0012"),
    eject_empty=Refusal(400, "IDRAC.2.8.VRM0009"),
    eject_takes=2,
    already=Refusal(409, "IDRAC.2.8.PSU501"),
    firmware=parts.JOBS,
)

# "boot override | Dell iDRAC8, iDRAC9 < 6.00" (Cd is the physical drive). A captured R650 with 5.10 links what has
# ServerBoot.1.*, and answers 404 on the older path. libredfish PR 38: others have only the older path, unlinked.
DELL5 = replace(
    DELL,
    name="dell5",
    bmc_version="5.10.50.00",
    cd_targets=(),
    attributes="Oem/Dell/DellAttributes/iDRAC.Embedded.1",
    attributes_linked=tuple(
        f"Oem/Dell/DellAttributes/{part}.Embedded.1" for part in ("System", "iDRAC", "LifecycleController")
    ),
)
DELL4 = replace(DELL5, name="dell4", bmc_version="4.40.00.00", attributes="Attributes", attributes_linked=())

# A captured M640 with 3.34 (bmc-toolbox/redfish-mocks): its Manufacturer is empty, and it reports no mode.
DELL3 = replace(
    DELL4,
    name="dell3",
    manufacturer="",
    model="PowerEdge M640",
    bmc_model="14G Modular",
    bmc_version="3.34.34.34",
    service=("", "Integrated Dell Remote Access Controller", "Dell"),
    attributes_linked=("Attributes",),
    boot_mode="",
)

# "where VirtualMedia lives | iDRAC10", "slot choice | iDRAC10" (slot 1), "boot override | Dell iDRAC10" (allowed
# values only in Settings, versions restart at 1.x), "power | Dell iDRAC10" (On right after off).
DELL10 = Vendor(
    "dell10",
    "Dell Inc.",
    "PowerEdge R670",
    "17G Monolithic",
    "1.20.50.50",
    "1.2.6",
    (Slot("1", (*DISC, "USBStick")), Slot("2", (*DISC, "USBStick"))),
    system="System.Embedded.1",
    manager="iDRAC.Embedded.1",
    sku=DELL.sku,
    media_on="Systems",
    targets=DELL.targets,
    boot_in_settings=True,
    insert_full=DELL.insert_full,
    eject_empty=DELL.eject_empty,
    eject_takes=2,
    on_busy=3,
    already=DELL.already,
    firmware=parts.JOBS,
)

# R750 with 7.10: two like drives on the System. D9: with images in both, the first one boots.
DELL_R750 = replace(
    DELL,
    name="dell_r750",
    model="PowerEdge R750",
    bmc_model="15G Monolithic",
    bmc_version="7.10.30.00",
    slots=(Slot("1", (*DISC, "USBStick")), Slot("2", (*DISC, "USBStick"))),
    media_on="Systems",
)

# "eject | HPE iLO" (body, empty drive), "boot override | HPE" (refused in POST). 32 captured trees, D7: its errors
# have only a MessageId, and one names the licence that is missing. goldyfruit/ansible-ilo issue 1: a Reset to a state
# that is there.
HPE = Vendor(
    "hpe",
    "HPE",
    "ProLiant DL380 Gen10 Plus",
    "iLO 5",
    "iLO 5 v2.72",
    "U46 v1.64",
    (Slot("1", ("Floppy", "USBStick")), Slot("2")),
    targets=("None", "Cd", "Hdd", "Usb", "SDCard", "Utilities", "Diags", "BiosSetup", "Pxe", "UefiShell", "UefiHttp"),
    insert_full=Refusal(400, "iLO.2.14.VirtualMediaIsAttached"),
    eject_empty=Refusal(400, "iLO.2.14.NoVirtualMediaConnectionAvailable"),
    eject_needs_body=True,
    sku="P05524-B21",
    boot_busy=3,
    already=Refusal(400, "iLO.2.14.InvalidOperationForSystemState"),
    unlicensed=Refusal(403, "iLO.2.14.LicenseKeyRequired", args=("iLO Advanced",)),
    terse=True,
    firmware=parts.FIXED,
)

# ironcore-dev/metal-operator pull request 998: it refuses Disabled beside the target None.
HPE_TARGET = replace(
    HPE,
    name="hpe_target",
    clearing=Clearing(takes_none=False, needs=("BootSourceOverrideTarget",)),
)

# Gen9, from community.general (PATCH of Image alone) and gists: "HP", no standard actions, no mode.
HPE_ILO4 = replace(
    HPE,
    name="hpe_ilo4",
    manufacturer="HP",
    model="ProLiant DL380 Gen9",
    bmc_model="iLO 4",
    bmc_version="iLO 4 v2.82",
    bios_version="P89 v2.92",
    slots=(Slot("1", ("Floppy", "USBStick"), action=False), Slot("2", action=False)),
    media_by="patch",
    patch_takes=("Image",),
    boot_mode="",
    firmware=parts.UNKNOWN,
)

# "boot override | Supermicro X11/X12" (UsbCd), "eject | Supermicro" (Image stays), "payload | Supermicro X11/X12";
# Redfishtool PR 106 and ironic's management.py (Legacy unless the mode is sent).
# 32 captured trees, D7: OemLicenseNotPassed.
SUPERMICRO = Vendor(
    "supermicro",
    "Supermicro",
    "SYS-120U-TNR",
    "ASPEED",
    "01.01.19",
    "1.4b",
    (FLOPPY, Slot("VirtualMedia1")),
    media_refused=("Inserted", "WriteProtected"),
    image_stays=True,
    cd_targets=("UsbCd",),
    targets=("None", "Pxe", "Hdd", "Cd", "Usb", "UsbCd", "UsbHdd", "BiosSetup", "UefiHttp"),
    unlicensed=Refusal(
        403,
        "SMC.1.0.OemLicenseNotPassed",
        "Not licensed to perform this request. The following licenses DCMS were needed",
        ("DCMS",),
    ),
    boot_falls_back=True,
    firmware=parts.KEYS,
)

# D11: it advertises EjectMedia only while a drive is full, and still names the image that was ejected.
SUPERMICRO_X13 = replace(
    SUPERMICRO,
    name="supermicro_x13",
    model="SYS-821GE-TNHR",
    bmc_version="01.01.01",
    eject_when_full=True,
    firmware=parts.NO_KEYS,
)

# A captured GB300 and GB200: OpenBMC, Boot only in Settings, and no mode. NVIDIA's documentation of BlueField:
# Settings has what is pending.
GB300 = Vendor(
    "gb300",
    "Supermicro",
    "GB300 NVL",
    "OpenBMC",
    "25.07",
    "01.04",
    (Slot("USB1", refuses=400), Slot("USB2")),
    system="System_0",
    manager="BMC_0",
    other_systems=("HGX_Baseboard_0",),
    targets=("None", "Pxe", "Hdd", "Cd", "Diags", "BiosSetup", "Usb"),
    boot_mode="",
    boot_in_settings=True,
    boot_pending=True,
    firmware=parts.NO_SWITCH,
)

# "slot choice | Lenovo XCC".
LENOVO = Vendor(
    "lenovo",
    "Lenovo",
    "ThinkSystem SR650 V2",
    "Lenovo XClarity Controller",
    "AFBT26O",
    "2.10",
    (
        *(Slot(name, refuses=400) for name in ("RDOC1", "RDOC2", "Remote1", "Remote2", "Remote3", "Remote4")),
        Slot("EXT1"),
    ),
    firmware=parts.KEYS,
)

# "method | Lenovo ThinkSystem (SD530, SR630 v2)".
LENOVO_PATCH = Vendor(
    "lenovo_patch",
    "Lenovo",
    "ThinkSystem SD530",
    "Lenovo XClarity Controller",
    "TEI392M",
    "3.01",
    (Slot("EXT1", action=False),),
    media_by="patch",
    needs_etag=412,
)

AMI_SERVICE = ("AMI", "AMI Redfish Server", "Ami")

# "where VirtualMedia lives | AMI MegaRAC" (empty until enabled), "ETag | AMI", "boot override | AMI" (all in one
# PATCH). D1: it reports its image with the file name twice. swallow's decision 047: it takes
# no https. A captured H262: only the service root names AMI.
AMI = Vendor(
    "ami",
    "GIGABYTE",
    "R282-Z93",
    "AMI MegaRAC SP-X",
    "13.06.10",
    "M08",
    (Slot("CD1"),),
    system="Self",
    manager="Self",
    service=AMI_SERVICE,
    media_enabled=False,
    media_schemes=("http",),
    image_as="twice",
    boot_whole=True,
    needs_etag=428,
    firmware=parts.KEYS,
)

# D6: a CD without MediaTypes, and another name and path of the action that enables remote media.
GIGABYTE = replace(
    AMI,
    name="gigabyte",
    model="H262-Z6A",
    bmc_version="12.84",
    slots=(Slot("HD1", ()), Slot("CD1", ())),
    enable_action="VirtualMedia.EnableRMedia",
    enable_on="Systems",
    media_schemes=GENERIC.media_schemes,
    image_as="url",
    firmware=parts.NO_KEYS,
)

# A captured DGX H100: AMI's service root, another maker, two systems, a mode that is null, Boot only in Settings.
# Tacklebox PR 127: the System shows a written override after the next reset.
DGX = Vendor(
    "dgx",
    "NVIDIA",
    "DGXH100",
    "77171220",
    "23.11.20",
    "1.01.03",
    (Slot("CD1"),),
    system="DGX",
    manager="BMC",
    service=AMI_SERVICE,
    other_systems=("HGX_Baseboard_0",),
    other_managers=("HGX_BMC_0",),
    media_enabled=False,
    boot_mode=None,
    firmware=parts.ONLY_UEFI,
    boot_in_settings=True,
    boot_pending=True,
    boot_whole=True,
    needs_etag=428,
)

# "slot choice | Cisco C845A M8, OpenBMC" (no action, 405), "power | multi-system BMC" (several systems, one with
# Boot). bmcweb virtual_media.hpp: TransferProtocolType OEM of a drive that a browser fills.
OPENBMC = Vendor(
    "openbmc",
    "Cisco Systems Inc",
    "UCSC-845A-M8",
    "OpenBMC",
    "2.14.0",
    "C845M8.1.0",
    (Slot("Slot_0", action=False, protocol="OEM"), Slot("Slot_1", refuses=405), Slot("Slot_2")),
    system="system",
    manager="bmc",
    other_systems=("HGX_Baseboard_0",),
    other_managers=("HGX_BMC_0",),
)

ALL = (
    *(GENERIC, GENERIC_SYSTEM, GENERIC_NAME, GENERIC_HTTP, GENERIC_WHOLE, GENERIC_MODE, NO_HDD),
    *(GENERIC_TLS, GENERIC_STRICT),
    *(DELL, DELL_R750, DELL3, DELL4, DELL5, DELL10),
    *(HPE, HPE_TARGET, HPE_ILO4, SUPERMICRO, SUPERMICRO_X13),
    *(LENOVO, LENOVO_PATCH),
    *(AMI, GIGABYTE, DGX, OPENBMC, GB300),
)
VENDORS = {vendor.name: vendor for vendor in ALL}
