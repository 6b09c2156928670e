"""The fleet's namespace, and the search attributes by which `status` finds clusters."""

import asyncio
import time
from collections.abc import Callable

from temporalio.api.enums.v1 import IndexedValueType
from temporalio.api.operatorservice.v1 import AddSearchAttributesRequest, ListSearchAttributesRequest
from temporalio.api.workflowservice.v1 import DescribeNamespaceRequest, RegisterNamespaceRequest
from temporalio.client import Client
from temporalio.service import RPCError, RPCStatusCode

from base.errors import FleetServerError
from fleet.connection import NAMESPACE

RETENTION_DAYS = 30
"""How long a workflow that has ended can be read."""
ATTRIBUTES = {
    "Site": IndexedValueType.INDEXED_VALUE_TYPE_KEYWORD,
    "Cluster": IndexedValueType.INDEXED_VALUE_TYPE_KEYWORD,
    "Step": IndexedValueType.INDEXED_VALUE_TYPE_KEYWORD,
    "Since": IndexedValueType.INDEXED_VALUE_TYPE_DATETIME,
}
READY_S = 120
_PAUSE_S = 0.2
_QUERY = " AND ".join(f"{name} IS NULL" for name in ATTRIBUTES)


async def prepare(address: str, fault: Callable[[], Exception | None]) -> None:
    """Make what is missing, and wait until the server and its visibility store answer with all of it.

    Args:
        address: HOST:PORT of a server that is perhaps still starting.
        fault: Returns why no answer will come, or None.

    Raises:
        FleetServerError: No answer within `READY_S`.
    """
    until = time.monotonic() + READY_S
    while True:
        try:
            return await _prepare(await Client.connect(address, namespace=NAMESPACE))
        except (RPCError, RuntimeError) as error:  # connect raises the latter
            if ended := fault():
                raise ended from None
            if time.monotonic() > until:
                what = f"namespace {NAMESPACE} does not answer after {READY_S} s: {error}"
                raise FleetServerError(what, where="temporal") from None
        await asyncio.sleep(_PAUSE_S)


async def _prepare(client: Client) -> None:
    try:
        await client.workflow_service.describe_namespace(DescribeNamespaceRequest(namespace=NAMESPACE))
    except RPCError as error:
        if error.status is not RPCStatusCode.NOT_FOUND:
            raise
        namespace = RegisterNamespaceRequest(namespace=NAMESPACE)
        namespace.workflow_execution_retention_period.FromSeconds(RETENTION_DAYS * 86400)
        await client.workflow_service.register_namespace(namespace)
    listed = await client.operator_service.list_search_attributes(ListSearchAttributesRequest(namespace=NAMESPACE))
    if missing := {name: kind for name, kind in ATTRIBUTES.items() if name not in listed.custom_attributes}:
        added = AddSearchAttributesRequest(namespace=NAMESPACE, search_attributes=missing)
        await client.operator_service.add_search_attributes(added)
    await client.count_workflows(_QUERY)
