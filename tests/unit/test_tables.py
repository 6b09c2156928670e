"""A table with a row per kind of a cluster, server or boot has one for each kind: a new kind is no KeyError."""

import importlib
import pkgutil
from collections.abc import Iterator, Mapping
from enum import Enum
from typing import Any

import pytest

from cluster.values.architecture import Architecture
from cluster.values.balancer import Balancer
from cluster.values.boot_method import BootMethod
from cluster.values.platform import ClusterPlatform
from cluster.values.role import Role

PACKAGES = ("assets", "boot_media", "cli", "cluster", "components", "lab", "payload", "providers", "review", "wires")
KINDS: tuple[type[Enum], ...] = (Architecture, Balancer, BootMethod, ClusterPlatform, Role)


def tables() -> Iterator[tuple[str, Mapping[Any, object]]]:
    """Yield each table of a module whose keys are members of one kind, with its name."""
    for package in PACKAGES:
        for module in pkgutil.walk_packages(importlib.import_module(package).__path__, f"{package}."):
            if not module.name.endswith("__main__"):
                for name, table in vars(importlib.import_module(module.name)).items():
                    if isinstance(table, dict) and {type(key) for key in table} in [{kind} for kind in KINDS]:
                        yield f"{module.name}.{name}", table


TABLES = dict(tables())


@pytest.mark.parametrize("name", TABLES)
def test_a_table_has_a_row_for_each_kind(name: str) -> None:
    kind = next(kind for kind in KINDS if isinstance(next(iter(TABLES[name])), kind))
    assert [each for each in kind if each not in TABLES[name]] == []


def test_each_kind_has_tables() -> None:
    assert {type(key) for table in TABLES.values() for key in table} == set(KINDS)
