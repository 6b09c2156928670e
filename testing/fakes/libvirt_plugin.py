"""A stand-in for the plugin of pulumi-libvirt: Pulumi's engine starts it, and a folder takes the place of libvirt.

As the real one, it takes the file of a volume's `source`, and waits for ever where its upload is cut off.
"""

import shutil
import sys
import sysconfig
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import grpc
from google.protobuf import empty_pb2, json_format
from pulumi.runtime.proto import plugin_pb2, provider_pb2, provider_pb2_grpc

from testing.checkout import ROOT

VERSION = "0.5.4"
UPLOAD_HANGS = "upload-hangs"
"""The file in the folder that has uploads hang."""


def install(folder: Path, libvirt: Path) -> Path:
    """Write the plugin's program, with `libvirt` as the folder of its volumes; return the folder for PATH."""
    libvirt.mkdir(parents=True)
    folder.mkdir()
    path = ":".join([str(ROOT), sysconfig.get_path("purelib")])
    program = folder / "pulumi-resource-libvirt"
    # The engine's children are known by the name that they are started with, as the real plugin's.
    program.write_text(
        f'#!/bin/bash\nexport PYTHONPATH={path}\nexec -a "$0" {sys.executable} -m {__spec__.name} {libvirt}\n'
    )
    program.chmod(0o755)
    return folder


class Plugin(provider_pb2_grpc.ResourceProviderServicer):
    """Pools, volumes and networks in a folder."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def GetPluginInfo(self, request: Any, context: Any) -> Any:  # noqa: N802
        return plugin_pb2.PluginInfo(version=VERSION)

    def CheckConfig(self, request: Any, context: Any) -> Any:  # noqa: N802
        return provider_pb2.CheckResponse(inputs=request.news)

    def DiffConfig(self, request: Any, context: Any) -> Any:  # noqa: N802
        return provider_pb2.DiffResponse()

    def Configure(self, request: Any, context: Any) -> Any:  # noqa: N802
        return provider_pb2.ConfigureResponse()

    def Check(self, request: Any, context: Any) -> Any:  # noqa: N802
        return provider_pb2.CheckResponse(inputs=request.news)

    def Diff(self, request: Any, context: Any) -> Any:  # noqa: N802
        olds, news = map(json_format.MessageToDict, (request.old_inputs, request.news))
        ignored = {*request.ignoreChanges}
        changed = [key for key in olds.keys() | news.keys() if olds.get(key) != news.get(key) and key not in ignored]
        kind = provider_pb2.DiffResponse.DIFF_SOME if changed else provider_pb2.DiffResponse.DIFF_NONE
        return provider_pb2.DiffResponse(changes=kind, replaces=changed)

    def Create(self, request: Any, context: Any) -> Any:  # noqa: N802
        inputs = json_format.MessageToDict(request.properties)
        if source := inputs.get("source"):
            if not Path(source).exists():
                context.abort(grpc.StatusCode.UNKNOWN, f"error while opening {source}: no such file or directory")
            if (self.folder / UPLOAD_HANGS).exists():
                threading.Event().wait()
            shutil.copy(source, self.folder / inputs["name"])
        return provider_pb2.CreateResponse(id=inputs["name"], properties=request.properties)

    def Delete(self, request: Any, context: Any) -> Any:  # noqa: N802
        (self.folder / request.id).unlink(missing_ok=True)
        return empty_pb2.Empty()

    def Cancel(self, request: Any, context: Any) -> Any:  # noqa: N802
        return empty_pb2.Empty()


def main() -> None:
    """Serve the engine, which reads the port from the first line."""
    server = grpc.server(ThreadPoolExecutor(8))
    provider_pb2_grpc.add_ResourceProviderServicer_to_server(Plugin(Path(sys.argv[1])), server)
    print(server.add_insecure_port("127.0.0.1:0"), flush=True)
    server.start()
    server.wait_for_termination()


if __name__ == "__main__":
    main()
