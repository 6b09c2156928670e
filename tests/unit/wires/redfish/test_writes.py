"""Every request to a BMC that may change something is a named write, and is not sent where a plan lacks it."""

import inspect
import json
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from base import log
from base.clock import SYSTEM_CLOCK
from base.errors import UnplannedWriteError
from base.log_entries import Action, entries_of
from base.write_guard import PLAN_VARIABLE
from testing.fakes.fleet.vendors import VENDORS
from testing.killed_installation import ROLE, urn, write_plan
from testing.server_under_test import NAME, ServerUnderTest, server
from tests.unit.wires.redfish.one_bmc import OneBmc
from wires.redfish.bmc import CD, ONCE, BmcClient, Power
from wires.redfish.sushy_bmc import SushyBmc
