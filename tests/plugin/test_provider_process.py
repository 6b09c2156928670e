"""The providers in the process that Pulumi starts for them, driven over gRPC as the engine does."""

import base64
import importlib
import json
import os
import pickle
import re
import resource
import subprocess
import sys
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path

import grpc
import pytest
from google.protobuf import json_format, struct_pb2
from pulumi.dynamic import ResourceProvider
from pulumi.dynamic.dynamic import serialize_provider
from pulumi.runtime.proto import provider_pb2, provider_pb2_grpc
from pulumi.runtime.rpc import UNKNOWN

ROOT = Path(__file__).parents[2]
PROVIDERS = [
    "providers.rendered_asset.provider.RenderedAssetProvider",
    "providers.bmc_host.provider.BmcHostProvider",
    "providers.bootstrap_vm.provider.BootstrapVmProvider",
    "providers.provisioner_preflight.provider.ProvisionerPreflightProvider",
    "providers.host_provisioning.provider.HostProvisioningProvider",
    "providers.vip_handoff.provider.VipHandoffProvider",
    "providers.vip_held.provider.VipHeldProvider",
    "providers.okd_installed.provider.OkdInstalledProvider",
    "providers.cluster_upgrade.provider.ClusterUpgradeProvider",
    "providers.server_objects.provider.ServerObjectsProvider",
    "providers.cluster_power.provider.ClusterPowerProvider",
    "providers.network_preflight.provider.NetworkPreflightProvider",
]
RPC_S = 30


def provider_class(name: str) -> type[ResourceProvider]:
    module, _, cls = name.rpartition(".")
    found: type[ResourceProvider] = getattr(importlib.import_module(module), cls)
    return found


def struct(**fields: object) -> struct_pb2.Struct:
    return json_format.ParseDict(fields, struct_pb2.Struct())


@contextmanager
def started(folder: Path = ROOT, *, full: bool = False) -> Iterator[provider_pb2_grpc.ResourceProviderStub]:
    """Start the plugin process in `folder`, the root of a project; if `full`, no file takes a byte."""
    command = [sys.executable, "-u", "-m", "pulumi.dynamic", "127.0.0.1:0"]
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    with subprocess.Popen(command, cwd=folder, env=environment, stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None
            port = process.stdout.readline().strip()
            assert port.isdigit(), "nothing may be printed before the port"
            if full:
                resource.prlimit(process.pid, resource.RLIMIT_FSIZE, (0, 0))
            threading.Thread(target=process.stdout.read, daemon=True).start()
            with grpc.insecure_channel(f"127.0.0.1:{port}") as channel:
                yield provider_pb2_grpc.ResourceProviderStub(channel)
        finally:
            process.kill()


@pytest.fixture(scope="module")
def plugin() -> Iterator[provider_pb2_grpc.ResourceProviderStub]:
    with started() as stub:
        yield stub


@pytest.mark.parametrize("name", PROVIDERS)
def test_a_provider_is_stored_as_a_reference(name: str) -> None:
    pickled = serialize_provider(provider_class(name)())
    raw = base64.b64decode(pickled)
    module, _, cls = name.rpartition(".")
    assert len(pickled) < 200
    assert module.encode() in raw
    assert cls.encode() in raw
    assert type(pickle.loads(raw)) is provider_class(name)  # noqa: S301  (made above)


@pytest.mark.parametrize("name", PROVIDERS)
def test_a_provider_has_no_attributes_to_store_in_the_state(name: str) -> None:
    provider = provider_class(name)()
    assert vars(provider) == {}
    assert provider.serialize_as_secret_always is False


@pytest.mark.parametrize("name", PROVIDERS)
def test_two_thousand_resources_are_serialized(name: str) -> None:
    """With attributes, Pulumi 3.272 fails with RecursionError at about the 978th."""
    provider = provider_class(name)()
    assert len({serialize_provider(provider) for _ in range(2000)}) == 1


@pytest.mark.parametrize("name", PROVIDERS)
def test_the_process_loads_a_provider_and_answers(plugin: provider_pb2_grpc.ResourceProviderStub, name: str) -> None:
    pickled = serialize_provider(provider_class(name)())
    props = struct(__provider=pickled, field="a")
    request = provider_pb2.DiffRequest(id="x", olds=props, news=struct(__provider=pickled, field="b"))
    answer = plugin.Diff(request, timeout=RPC_S)
    assert answer.changes == provider_pb2.DiffResponse.DIFF_UNKNOWN
    assert answer.deleteBeforeReplace


BMC = {"address": "redfish-virtualmedia+https://192.0.2.9/redfish/v1/Systems/1", "username": "admin"}
DEAD = {**BMC, "address": "redfish-virtualmedia+http://127.0.0.1:1/redfish/v1/Systems/1"}


def bmc_host(**changes: object) -> struct_pb2.Struct:
    pickled = serialize_provider(provider_class("providers.bmc_host.provider.BmcHostProvider")())
    props = {"host": "m0", "bmc": BMC, "password": "hidden", "consent": "SN-1", **changes}
    return struct(__provider=pickled, **props)


def test_eight_calls_at_once_are_answered(plugin: provider_pb2_grpc.ResourceProviderStub) -> None:
    request = provider_pb2.CheckRequest(news=bmc_host(consent=""), olds=struct())
    with ThreadPoolExecutor(8) as pool:
        answers = list(pool.map(lambda _: plugin.Check(request, timeout=RPC_S), range(8)))
    faults = [[failure.reason.split(":")[0] for failure in answer.failures] for answer in answers]
    assert faults == [["consent.m0"]] * 8


def test_an_input_unknown_in_a_preview_is_no_failure(plugin: provider_pb2_grpc.ResourceProviderStub) -> None:
    news = bmc_host(bmc={**BMC, "address": UNKNOWN}, consent=UNKNOWN)
    answer = plugin.Check(provider_pb2.CheckRequest(news=news, olds=struct()), timeout=RPC_S)
    assert list(answer.failures) == []
    assert answer.inputs["consent"] == UNKNOWN


@pytest.mark.parametrize(
    ("inputs", "line"),
    [
        pytest.param({"bmc": DEAD, "deadline_s": 0}, "connection refused", id="of-a-bmc"),
        pytest.param(
            {"deadline_s": "hidden"},
            "base.errors.ConfigError: deadline_s: Input should be a valid number",
            id="of-an-input",
        ),
    ],
)
def test_an_error_is_one_line_without_a_traceback(
    plugin: provider_pb2_grpc.ResourceProviderStub, inputs: dict[str, object], line: str
) -> None:
    request = provider_pb2.CreateRequest(properties=bmc_host(**inputs))
    with pytest.raises(grpc.RpcError) as caught:
        plugin.Create(request, timeout=RPC_S)
    text = caught.value.details() or ""
    assert line in text
    assert "Traceback" not in text.splitlines()[-1]
    assert "hidden" not in text
    assert len([line for line in text.splitlines() if line.startswith("  File")]) == 0


def test_a_full_disk_is_one_line_without_a_traceback() -> None:
    """The copy that a file's reader gets is the first thing that an `up` writes outside of its log."""
    pickled = serialize_provider(provider_class("providers.rendered_asset.provider.RenderedAssetProvider")())
    asset = struct(__provider=pickled, path="/usr/local/bin/a.sh", mode="0755", text="hidden", reader="bash")
    with started(full=True) as plugin, pytest.raises(grpc.RpcError) as caught:
        plugin.Create(provider_pb2.CreateRequest(properties=asset), timeout=RPC_S)
    text = caught.value.details() or ""
    assert "base.errors.SystemCallError: the system refuses: File too large. Fix: make room on the disk of" in text
    assert not re.search("^  File|hidden", text, re.M)


def test_a_run_is_logged_in_the_projects_root_and_its_error_names_the_file(tmp_path: Path) -> None:
    urn = "urn:pulumi:prod::okd::pulumi-python:dynamic/baremetal:BmcHost::m0"
    properties = bmc_host(bmc=DEAD, deadline_s=0, urn=urn)
    with started(tmp_path) as plugin:
        plugin.Check(provider_pb2.CheckRequest(news=properties, olds=struct()), timeout=RPC_S)
        assert list(tmp_path.iterdir()) == []
        with pytest.raises(grpc.RpcError) as caught:
            plugin.Create(provider_pb2.CreateRequest(properties=properties), timeout=RPC_S)
    (file,) = (tmp_path / "log" / "prod").iterdir()
    assert (caught.value.details() or "").splitlines()[-1] == f"log: log/prod/{file.name}"
    _, asked, broken, error = map(json.loads, file.read_text().splitlines())
    assert (asked["event"], asked["text"]) == ("redfish", "http://127.0.0.1:1 GET /redfish/v1/Systems/1")
    assert "refused" in broken["text"]
    assert (error["event"], error["machine"]) == ("error", "m0")
