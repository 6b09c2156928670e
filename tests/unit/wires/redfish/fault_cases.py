"""Faults of a BMC, and how a run ends by each: the rows of docs/explanation/servers.md."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from base.errors import (
    BmcAuthError,
    BmcIdentityError,
    BmcRefusedError,
    BmcTimeoutError,
    OkdBaremetalError,
    ProvisioningError,
)
from testing.fakes.fleet.fleet import Fault, uuid_of
from testing.server_under_test import ServerUnderTest

SYSTEM = "/Systems/1$"
DRIVES, CD = "GET.*/VirtualMedia$", "VirtualMedia/Cd$"
ANOTHER = {"UUID": uuid_of(7), "SerialNumber": "SN-7"}
NAMELESS = {"UUID": None, "SerialNumber": None}
OUT = {"Inserted": False, "Image": None}
IN = {"Inserted": True, "Image": "http://192.0.2.9/x.iso", "ConnectedVia": "URI"}
AS_LEGACY = {
    "BootSourceOverrideTarget": "UsbCd",
    "BootSourceOverrideEnabled": "Once",
    "BootSourceOverrideMode": "Legacy",
}
DISABLED = {**AS_LEGACY, "BootSourceOverrideTarget": "None", "BootSourceOverrideEnabled": "Disabled"}
FOREIGN = "nfs://192.0.2.9/rescue.iso"
BOM = "\xef\xbb\xbf"
"""Of UTF-8, in Latin-1."""
INSERT, RESET = "POST.*InsertMedia", "POST.*Reset"
TASK = "/redfish/v1/TaskService/Tasks/JID_1"
STARTED = {"@odata.id": TASK, "Id": "JID_1", "TaskState": "Running", "TaskStatus": "OK"}
JOB = {
    "@odata.id": "/redfish/v1/Managers/iDRAC.Embedded.1/Jobs/JID_1",
    "JobState": "Failed",
    "Message": "Unable to locate the ISO",
    "MessageId": "RAC0720",
    "PercentComplete": 100,
}
"""One of Dell's jobs, which some writes of an iDRAC name in place of a Task (dell/iDRAC-Redfish-Scripting)."""
FAILED = STARTED | {
    "TaskState": "Exception",
    "TaskStatus": "Critical",
    "Messages": [
        {"MessageId": "TaskEvent.1.0.3.TaskStarted", "Message": "It has started.", "Severity": "OK"},
        {"MessageId": "IDRAC.2.8.RAC0720", "Message": "Unable to locate the ISO"},
    ],
}
"""kubevirtbmc issue 235 and community.general issue 8279: a write is answered before it is carried out."""


def said(message_id: str, words: str) -> dict[str, Any]:
    """Return an error of Redfish (DSP0266, section Error responses)."""
    info = {"MessageId": message_id, "Message": words, "MessageArgs": [], "Severity": "Critical"}
    return {"error": {"code": "Base.1.8.GeneralError", "message": "See it", "@Message.ExtendedInfo": [info]}}


CHANGE_PASSWORD = said(
    "Base.1.8.PasswordChangeRequired",
    "The password provided for this account must be changed before access is granted.",
)
LOCKED_DOWN = said("IDRAC.2.8.LC148", "Unable to perform the operation because the System Lockdown Mode is enabled.")
UNPRIVILEGED = said("Base.1.8.InsufficientPrivilege", "There are insufficient privileges for the account.")
UNLICENSED = said("iLO.2.14.LicenseKeyRequired", "")
DETACHED = said("IDRAC.2.8.VRM0021", "Virtual Media is detached or is already in use.")
"""By the registries Base and iLO, dell/iDRAC-Redfish-Scripting issue 319, and microsoft/lisa pull request 4168."""


def nothing(_: ServerUnderTest) -> None:
    pass


def script(*faults: Fault) -> Callable[[ServerUnderTest], None]:
    return lambda it: it.fleet.fault(*faults)


def having(**state: object) -> Callable[[ServerUnderTest], None]:
    return lambda it: it.fleet.change(0, **state)


def refusing_connections(it: ServerUnderTest) -> None:
    it.fleet.change(0, listening=False)


def for_a_minute(it: ServerUnderTest, begin: Callable[[], None], end: Callable[[], None]) -> None:
    begin()
    over = it.clock.now() + 60
    it.clock.on_sleep = lambda now: end() if now >= over else None


def refusing_connections_for_a_minute(it: ServerUnderTest) -> None:
    fleet = it.fleet
    for_a_minute(it, lambda: fleet.change(0, listening=False), lambda: fleet.change(0, listening=True))


def sessions_full(it: ServerUnderTest) -> None:
    it.session = True
    it.fleet.change(0, session_limit=0)


def sessions_full_for_a_minute(it: ServerUnderTest) -> None:
    it.session = True
    fleet = it.fleet
    for_a_minute(it, lambda: fleet.change(0, session_limit=0), lambda: fleet.change(0, session_limit=1))


def logged_out(it: ServerUnderTest) -> None:
    it.session = True
    it.fleet.fault(Fault("POST.*Reset", "logout", times=1))


def refusing_a_new_session(it: ServerUnderTest) -> None:
    it.session = True
    it.fleet.fault(Fault("GET", "status", status=401, times=1))


def accepted(request: str, *, ends: bool, monitor: bool = False) -> Callable[[ServerUnderTest], None]:
    """Answer a write with 202 and its task, which ends well, or fails; its monitor then answers in its place."""
    end = Fault(f"GET {TASK}", "status", status=400, body=DETACHED) if monitor else None
    task = end or Fault(f"GET {TASK}", "status", status=200, body=STARTED if ends else FAILED)
    location = {"Location": f"https://bmc.example{TASK}"} if monitor else {}
    return script(task, Fault(request, "status", status=202, body=STARTED, headers=location, applied=ends))


def as_task(request: str, task: dict[str, Any]) -> Callable[[ServerUnderTest], None]:
    """Answer a write with 202 and the path of `task`, which stays as it is."""
    told = Fault(f"GET {task['@odata.id']}", "status", status=200, body=task)
    return script(told, Fault(request, "status", status=202, headers={"Location": task["@odata.id"]}, text=""))


def refused(request: str, status: int, body: dict[str, Any]) -> Callable[[ServerUnderTest], None]:
    return script(Fault(request, "status", status=status, body=body))


def answer_lost(request: str) -> Callable[[ServerUnderTest], None]:
    return script(Fault(request, "reset", times=1, applied=True))


@dataclass(frozen=True)
class FaultCase:
    """A fault, and its end.

    Args:
        error: None if the server is installed, with one Reset of each kind.
        text: Pattern of the error's text.
        writes: The number of requests, except GETs, that the BMC got until then.
        vendor: The kind of BMC in the fake fleet.
    """

    name: str
    fault: Callable[[ServerUnderTest], None]
    error: type[OkdBaremetalError] | None = None
    text: str = ""
    writes: int = 0
    vendor: str = "generic"


ROWS = (
    FaultCase("connections refused for a minute", refusing_connections_for_a_minute),
    FaultCase("connections refused forever", refusing_connections, BmcTimeoutError, "connection refused"),
    FaultCase("connection reset", script(Fault(".", "reset", times=3))),
    FaultCase("closes used connections without saying so", script(Fault(".", "used"))),
    FaultCase("no answer", script(Fault("GET", "hang", times=1))),
    FaultCase("answer trickles (slow loris)", script(Fault("GET", "drip", times=1))),
    FaultCase("500 burst", script(Fault("GET", "status", status=500, times=5))),
    FaultCase("503 burst", script(Fault("GET|POST|PATCH", "status", status=503, times=5))),
    FaultCase("503 with Retry-After", script(Fault("GET", "status", times=1, headers={"Retry-After": "120"}))),
    FaultCase("503 forever", script(Fault(".", "status")), BmcTimeoutError, "HTTP 503"),
    FaultCase("401 once", script(Fault("GET", "status", status=401, times=1)), BmcAuthError, "accounts lock"),
    FaultCase("401 forever", script(Fault("GET", "status", status=401)), BmcAuthError, "accounts lock"),
    FaultCase(
        "401 once, after it has accepted the login", script(Fault("GET", "status", status=401, skip=5, times=1))
    ),
    FaultCase(
        "401 to an insert, after it has accepted the login", script(Fault(INSERT, "status", status=401, times=1))
    ),
    FaultCase("401 right after it has opened a session", refusing_a_new_session),
    FaultCase(
        "takes no Basic login",
        script(Fault(".", "status", status=401, headers={"WWW-Authenticate": 'Digest realm="BMC", qop="auth"'})),
        BmcAuthError,
        r"takes no Basic login.*Fix: run `pulumi config set --path 'bmc_credentials\.<host>\.session' true`",
    ),
    FaultCase("403", script(Fault("POST.*Reset", "status", status=403)), BmcAuthError, "HTTP 403", writes=1),
    FaultCase(
        "403 for want of a licence",
        script(Fault("POST.*Insert", "unlicensed")),
        ProvisioningError,
        r"HTTP 403, the BMC lacks a licence \(Base\.1\.8\.LicenseNotPassed",
    ),
    FaultCase(
        "403 until the account's password is changed",
        refused("GET", 403, CHANGE_PASSWORD),
        BmcAuthError,
        "must set a new password first.*Fix: set one on the BMC's own pages",
    ),
    FaultCase(
        "403 for want of a privilege",
        refused(RESET, 403, UNPRIVILEGED),
        BmcRefusedError,
        "the account lacks a privilege.*Fix: give its account the role Administrator",
        writes=1,
    ),
    FaultCase(
        "401 for want of a privilege",
        refused(RESET, 401, UNPRIVILEGED),
        BmcRefusedError,
        "the account lacks a privilege.*Fix: give its account the role Administrator",
        writes=1,
    ),
    FaultCase(
        "400 for want of a licence",
        refused(INSERT, 400, UNLICENSED),
        ProvisioningError,
        r"HTTP 400, the BMC lacks a licence \(iLO\.2\.14\.LicenseKeyRequired\)\. Fix: add the licence",
    ),
    FaultCase(
        "405 without a body to an insert",
        script(Fault(INSERT, "status", status=405, text="")),
        ProvisioningError,
        "refuses the boot ISO from .*: HTTP 405, the BMC does not do what it offers. Fix: update the BMC's firmware",
    ),
    FaultCase(
        "405 without a body to an insert into the first drive",
        script(Fault("POST.*/Slot_1/.*Insert", "status", status=405, text="")),
        vendor="openbmc",
    ),
    FaultCase(
        "403 in lockdown",
        refused(INSERT, 403, LOCKED_DOWN),
        ProvisioningError,
        "the server is locked down.*Fix: switch the lockdown mode off",
    ),
    FaultCase(
        "400 in lockdown",
        refused(RESET, 400, LOCKED_DOWN),
        BmcRefusedError,
        "the server is locked down.*Fix: switch the lockdown mode off",
        writes=1,
    ),
    FaultCase(
        "400 as virtual media is detached",
        refused(INSERT, 400, DETACHED),
        ProvisioningError,
        "virtual media is detached, or in use.*Fix: attach it",
    ),
    FaultCase(
        "500 as virtual media is detached",
        refused(INSERT, 500, DETACHED),
        ProvisioningError,
        "virtual media is detached, or in use.*Fix: attach it",
    ),
    FaultCase("202 to an insert, done by a task", accepted(INSERT, ends=True)),
    FaultCase("202 to a reset, done by a task", accepted(RESET, ends=True)),
    FaultCase(
        "202 to an insert, and its task fails",
        accepted(INSERT, ends=False),
        ProvisioningError,
        r"its task ended as Exception Critical \(IDRAC\.2\.8\.RAC0720: Unable to locate the ISO\)",
    ),
    FaultCase(
        "202 to an insert, and its task's monitor answers with an error",
        accepted(INSERT, ends=False, monitor=True),
        ProvisioningError,
        "virtual media is detached, or in use.*Fix: attach it",
    ),
    FaultCase(
        "202 to a reset, and its task fails",
        accepted(RESET, ends=False),
        BmcRefusedError,
        "its task ended as Exception",
        writes=1,
    ),
    FaultCase(
        "202 to an insert, and its job fails",
        as_task(INSERT, JOB),
        ProvisioningError,
        r"its task ended as Failed \(RAC0720: Unable to locate the ISO\)",
    ),
    FaultCase(
        "202 to a reset, and its task never ends",
        as_task(RESET, STARTED),
        BmcTimeoutError,
        "power Off was not reached in time; the BMC's task for it reads Running",
        writes=1,
    ),
    FaultCase("404 of the list of drives at first", script(Fault(DRIVES, "status", status=404, times=3))),
    FaultCase(
        "404 of the list of drives forever",
        script(Fault(DRIVES, "status", status=404)),
        BmcRefusedError,
        "cannot read .*: HTTP 404.*, for 120 s. Fix: wait until the BMC has started",
    ),
    FaultCase("404 after a restart", script(Fault("GET", "reboot", skip=3, times=1, status=404, requests=4))),
    FaultCase("answer to a reset lost", answer_lost("POST.*Reset")),
    FaultCase("answer to an insert lost", answer_lost("POST.*InsertMedia")),
    FaultCase("answer to an eject lost", answer_lost("POST.*EjectMedia")),
    FaultCase("answer to a boot override lost", answer_lost(f"PATCH.*{SYSTEM}")),
    FaultCase(
        "500 after a reset was done", script(Fault("POST.*Reset", "status", status=500, times=1, applied=True))
    ),
    FaultCase(
        "200 with an error, nothing done",
        script(Fault("POST.*Insert", "error")),
        ProvisioningError,
        "never fetched.*boot ISO in the virtual CD drive was not reached",
    ),
    FaultCase("truncated document", script(Fault("GET", "truncated", times=2))),
    FaultCase("shorter than its Content-Length", script(Fault("GET", "short", times=2))),
    FaultCase("malformed JSON", script(Fault("GET", "malformed", times=2))),
    FaultCase("HTML", script(Fault("GET", "html", times=2))),
    FaultCase("empty", script(Fault("GET", "empty", times=2))),
    FaultCase("64 MB", script(Fault("GET", "huge")), BmcRefusedError, "is longer than 4,096 KiB"),
    FaultCase(
        "wrong identity", script(Fault(SYSTEM, "says", says=ANOTHER)), BmcIdentityError, f"{uuid_of(0)}.*{uuid_of(7)}"
    ),
    FaultCase(
        "expired certificate",
        having(certificate="expired"),
        BmcRefusedError,
        r"certificate has expired\)\. Fix: renew it",
    ),
    FaultCase(
        "certificate of another name", having(certificate="other name"), BmcRefusedError, "mismatch.*bmc.address"
    ),
    FaultCase(
        "certificate of another CA", having(certificate="other authority"), BmcRefusedError, "not trusted.*bmc_ca"
    ),
    FaultCase(
        "TLS 1.1 and older only",
        having(tls="TLS 1.1"),
        BmcRefusedError,
        r"no common version or cipher of TLS \(tlsv1 alert protocol version\)\. Fix: update .*legacy_tls",
        writes=0,
    ),
    FaultCase(
        "RSA key exchange only",
        having(tls="RSA key exchange"),
        BmcRefusedError,
        r"no common version or cipher of TLS \(sslv3 alert handshake failure\)\. Fix: update .*legacy_tls",
        writes=0,
    ),
    FaultCase(
        "redirects to another server",
        script(Fault(".", "redirected", status=308, url="https://192.0.2.9")),
        BmcRefusedError,
        r"it redirects to https://192\.0\.2\.9\. Fix: if that is the same BMC, write \+https://192\.0\.2\.9 in",
    ),
    FaultCase("redirects each request with 308", script(Fault(".", "redirected", status=308, url=""))),
    FaultCase("redirects each write with 302", script(Fault("POST|PATCH", "redirected", status=302, url=""))),
    FaultCase("redirects each write with 301", script(Fault("POST|PATCH", "redirected", status=301, url=""))),
    FaultCase("wants If-Match, and has its ETag in the body", having(etag_in="body"), vendor="ami"),
    FaultCase("wants If-Match, and its ETag is empty", having(etag_in="empty"), vendor="ami"),
    FaultCase(
        "wants If-Match to a PATCH of its drive, and its ETag is empty",
        having(etag_in="empty"),
        vendor="lenovo_patch",
    ),
    FaultCase("a byte order mark before each answer", script(Fault(".", "wrapped", around=(BOM, "")))),
    FaultCase("a NUL after each answer", script(Fault(".", "wrapped", around=("", "\0")))),
    FaultCase("lists its drives page by page", script(Fault(r"GET .*/VirtualMedia(\?|$)", "paged"))),
    FaultCase(
        "lists null in place of its drives",
        script(Fault("GET .*/VirtualMedia$", "says", says={"Members": None})),
        BmcRefusedError,
        "the list of its virtual drives is empty",
        writes=0,
    ),
    FaultCase("500 for a drive that is not needed", script(Fault("GET .*/Floppy$", "status", status=500))),
    FaultCase(
        "500 for its only CD",
        script(Fault(f"GET .*/{CD}", "status", status=500)),
        BmcTimeoutError,
        "cannot read the virtual CD: HTTP 500",
    ),
    FaultCase("wants the whole Boot", nothing, vendor="generic_whole"),
    FaultCase(
        "406 to a request with OData-Version or User-Agent",
        script(Fault(".", "fussy", headers={"OData-Version": "", "User-Agent": ""})),
    ),
    FaultCase("session table full for a minute", sessions_full_for_a_minute),
    FaultCase("session table full forever", sessions_full, BmcTimeoutError, "HTTP 503"),
    FaultCase("session lost", logged_out),
    FaultCase("foreign media, off", having(image=FOREIGN, power="Off")),
    FaultCase("foreign media, on", having(image=FOREIGN)),
    FaultCase(
        "reports an empty drive although it is full",
        script(Fault(CD, "says", says=OUT)),
        ProvisioningError,
        "never fetched.*boot ISO in the virtual CD drive was not reached",
    ),
    FaultCase(
        "reports a full drive although it is empty",
        script(Fault(CD, "says", says=IN)),
        BmcTimeoutError,
        "an empty virtual CD",
    ),
    FaultCase("power never changes", script(Fault("POST.*Reset", "ignored")), BmcTimeoutError, "power Off", writes=1),
    FaultCase("power reads null at first", script(Fault(SYSTEM, "says", says={"PowerState": None}, times=5))),
    FaultCase(
        "power reads null forever",
        script(Fault(SYSTEM, "says", says={"PowerState": None})),
        BmcTimeoutError,
        "PowerState reads null",
    ),
    FaultCase("UUID and serial read null at first", script(Fault(SYSTEM, "says", says=NAMELESS, times=5))),
    FaultCase(
        "UUID and serial read null forever",
        script(Fault(SYSTEM, "says", says=NAMELESS)),
        BmcIdentityError,
        "UUID unreported, serial unreported.*Fix: .*run this again in 2 minutes",
    ),
    FaultCase("restarts and forgets", script(Fault("PATCH", "reboot", times=1, applied=True, keeps=False))),
    FaultCase("restarts while it installs", script(Fault("GET", "reboot", skip=25, times=1))),
    FaultCase(
        "restarts right after a power-on, and forgets",
        script(Fault(RESET, "reboot", skip=1, times=1, applied=True, keeps=False)),
        ProvisioningError,
        r"never fetched.* within 1[2-5]\d s.*; its virtual CD drive is empty\. Fix: switch the server off",
    ),
    FaultCase(
        "drops the image at each power-on",
        having(drops_media=True),
        ProvisioningError,
        r"never fetched.* within 1[2-5]\d s.*; its virtual CD drive is empty\. Fix: switch the server off",
    ),
    FaultCase(
        "boot override ignored",
        having(ignores_once=True),
        ProvisioningError,
        r"its boot override reads None Disabled; its virtual CD drive has the ISO\. Fix: .*did not follow the boot",
    ),
    FaultCase("shows a boot override in @Redfish.Settings until the next reset", nothing, vendor="gb300"),
    FaultCase(
        "404 forever where an iDRAC9 before 6.00 has its boot attributes",
        script(Fault("Attributes", "status", status=404)),
        BmcRefusedError,
        "cannot read the boot attributes: HTTP 404.*for 120 s",
        vendor="dell5",
    ),
    FaultCase(
        "no reset action",
        script(Fault(SYSTEM, "says", says={"Actions": {}})),
        BmcRefusedError,
        "Reset is missing.*Fix: do it on the BMC's own pages",
    ),
    FaultCase("boots as Legacy unless the mode is sent", nothing, vendor="supermicro"),
    FaultCase(
        "accepts a boot override, and stores another mode",
        script(Fault("PATCH", "stores", says={"Boot": AS_LEGACY})),
        BmcRefusedError,
        "accepted boot override Cd with mode UEFI, and reads UsbCd Once Legacy 60 s later. Fix: set",
        vendor="supermicro",
    ),
    FaultCase(
        "accepts a boot override, and disables it",
        script(Fault("PATCH", "stores", says={"Boot": DISABLED})),
        BmcRefusedError,
        "accepted boot override Cd with mode UEFI, and reads None Disabled Legacy 60 s later. Fix: set",
        vendor="supermicro",
    ),
)
