"""What DSP0266 asks of every service beside its resources: documents that need no login, and headers."""

from collections import defaultdict
from collections.abc import Iterable

from testing.fakes.fleet.http import Answer, Request
from testing.fakes.fleet.machine import Machine
from testing.fakes.fleet.parts import Refusal
from testing.fakes.fleet.tree import ROOT
from testing.fakes.fleet.writes import Handler, Routes, refuse

READS = ("GET", "HEAD")
SCHEMAS = "http://redfish.dmtf.org/schemas/v1"
ODATA = "http://docs.oasis-open.org/odata/ns"
METADATA = f"{ROOT}/$metadata"
METADATA_XML = f"""<?xml version="1.0" encoding="UTF-8"?>
<edmx:Edmx xmlns:edmx="{ODATA}/edmx" Version="4.0">
  <edmx:Reference Uri="{SCHEMAS}/ServiceRoot_v1.xml"><edmx:Include Namespace="ServiceRoot.v1_11_0"/></edmx:Reference>
  <edmx:DataServices>
    <Schema xmlns="{ODATA}/edm" Namespace="Service">
      <EntityContainer Name="Service" Extends="ServiceRoot.v1_11_0.ServiceContainer"/>
    </Schema>
  </edmx:DataServices>
</edmx:Edmx>
"""
SERVICE_DOCUMENT = {
    "@odata.context": METADATA,
    "value": [
        {"name": name or "Service", "kind": "Singleton", "url": f"{ROOT}/{name}"}
        for name in ("", "Systems", "Managers", "SessionService")
    ],
}
OTHER_VERSION = Refusal(412, "Base.1.8.PreconditionFailed")


def _always(answer: Answer) -> Handler:
    def handler(_machine: Machine, _request: Request) -> Answer:
        return answer

    return handler


ROUTES: Routes = {
    "GET /redfish": _always(Answer(200, {"v1": f"{ROOT}/"})),
    f"GET {ROOT}/odata": _always(Answer(200, SERVICE_DOCUMENT)),
    f"GET {METADATA}": _always(Answer(200, METADATA_XML.encode(), {"Content-Type": "application/xml"})),
}
WITHOUT_LOGIN = {f"GET {ROOT}", *ROUTES}
"""The reads that need no login, each as `METHOD path`."""


def methods(lines: Iterable[str]) -> dict[str, str]:
    """Return the value of the header Allow by path.

    Args:
        lines: What the service handles, each as `METHOD path`.
    """
    allowed = defaultdict[str, list[str]](list)
    for method, path in (line.split(" ", 1) for line in lines):
        allowed[path] += READS if method == "GET" else (method,)
    return {path: ", ".join(names) for path, names in allowed.items()}


def refusal(request: Request) -> Answer | None:
    """Return the refusal of a request that asks for another version of OData."""
    version = request.headers.get("odata-version", "4.0")
    return None if version == "4.0" else refuse(OTHER_VERSION, f"OData-Version {version}")


def complete(answer: Answer, request: Request, allowed: str) -> Answer:
    """Return an answer with the headers of the standard; to HEAD, without its body."""
    headers, document = {"Cache-Control": "no-cache"}, answer.document
    if answer.status == 401:
        headers["WWW-Authenticate"] = 'Basic realm="BMC"'
    if allowed and (request.method in READS or answer.status == 405):
        headers["Allow"] = allowed
    if isinstance(document, dict) and "@odata.type" in document:
        schema = document["@odata.type"].lstrip("#").rpartition(".")[0]
        headers["Link"] = f"<{SCHEMAS}/{schema}.json>; rel=describedby"
    if request.method == "HEAD":
        headers |= {"Content-Length": str(len(answer.body())), "Content-Type": "application/json"}
        document = None
    return Answer(answer.status, document, headers | answer.headers)
