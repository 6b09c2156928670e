"""A masked copy of the Redfish tree that this program reads, for a report about a BMC. Changes nothing."""

import re
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from http import HTTPStatus
from typing import Any

import sushy
from pydantic import SecretStr

from base.errors import BmcError
from wires.bmc.access import LIMITS, BmcAccess, Limits
from wires.redfish.boot.idrac import older_path
from wires.redfish.capture.filter import Rule, filter_document
from wires.redfish.capture.pseudonyms import Pseudonyms
from wires.redfish.client.adapter import ROOT
from wires.redfish.client.resources import MANAGERS, SYSTEMS
from wires.redfish.sushy_bmc import SushyBmc

METHOD = re.compile("[A-Z]+")


@dataclass(frozen=True)
class _Answer:
    """What a BMC answered to a GET.

    Args:
        allow: The methods that it allows on the resource: PATCH inserts an image into a drive without an action.
        body: None if it is no JSON object.
    """

    status: int
    allow: str
    body: dict[str, Any] | None


class BmcCapture(SushyBmc):
    """Reads all that the program may read of one system."""

    def __init__(self, access: BmcAccess, password: SecretStr, limits: Limits = LIMITS) -> None:
        super().__init__(access, password, limits)
        self._names = (access.username, access.url.host)

    def tree(self, on_read: Callable[[str], None]) -> dict[str, Any]:
        """Return the masked tree: the path of the system, and each resource by its path.

        Args:
            on_read: Called with the path of each resource, before it is read.

        Raises:
            BmcError: The system cannot be read, or the BMC does not answer. A refusal is an answer like others.
        """
        waiting, answers = self._first_paths(), dict[str, _Answer]()
        system = waiting[0]
        while waiting:
            path = waiting.pop(0)
            if path not in answers:
                on_read(path)
                answers[path] = answer = self._answer(path)
                # Members of these are other servers, or were found through the System.
                waiting += _links(answer.body) if path not in (SYSTEMS, MANAGERS) else []
        masks = Pseudonyms((answer.body for answer in answers.values()), *self._names)
        resources = {self._clean(masks.path(path)): self._shown(answer, masks) for path, answer in answers.items()}
        return {"system": self._clean(masks.path(system)), "resources": resources}

    def _first_paths(self) -> list[str]:
        """Return the paths of the system, of its managers, and of what nothing links."""
        try:
            self._read.system()
        except BmcError:
            if self._read.seen is None:  # else it was read: a BMC that this program cannot use, or without a Manager
                raise
        paths = [self._read.seen.path]
        with suppress(BmcError), self._converted_errors("read the managers"):
            paths += [manager.path for manager in self._read.managers]
            if self._read.quirks.boots_by_attributes:
                paths.append(older_path(self._read.managers[0]))
        return [path.rstrip("/") for path in (*paths, ROOT, SYSTEMS, MANAGERS)]

    def _answer(self, path: str) -> _Answer:
        with self._converted_errors(f"read {path}"):
            try:
                answer = self._http.get(path)
            except sushy.exceptions.HTTPError as error:
                if error.status_code == HTTPStatus.UNAUTHORIZED:
                    raise
                return _Answer(error.status_code, "", {"error": error.body})
        try:
            body = answer.json()
        except (ValueError, RecursionError):
            body = None
        return _Answer(answer.status_code, answer.headers.get("Allow", ""), body if isinstance(body, dict) else None)

    def _shown(self, answer: _Answer, masks: Pseudonyms) -> dict[str, Any]:
        body = answer.body and filter_document(masks.masked(answer.body), lambda _, value: self._clean(value))
        allow = ", ".join(METHOD.findall(answer.allow))
        return {"status": answer.status, **({"allow": allow} if allow else {}), "body": body}

    def _clean(self, value: Any) -> Any:
        """Return a text without the password."""
        return self._http.adapter.mask.secrets.mask(value) if isinstance(value, str) else value


def _links(body: dict[str, Any] | None) -> list[str]:
    """Return the paths of the resources that are linked by what is kept of a document."""
    paths: list[str] = []

    def collect(rule: Rule, value: Any) -> None:
        path = str(value).partition("#")[0].rstrip("/")
        if rule is Rule.LINK and f"{path}/".startswith(ROOT):
            paths.append(path)

    filter_document(body or {}, collect)
    return paths
