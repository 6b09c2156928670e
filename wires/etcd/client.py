"""Asks a member of etcd over gRPC with a client certificate, of whose key no file is made.

Its gateway for JSON would need no gRPC, but newer releases of OKD serve that at another port than older ones.
"""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cache
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from assets.contract import ETCD_PORT
from base.shown import short
from cluster.values.address import netloc
from wires.etcd.member import Block, DeclinedError

if TYPE_CHECKING:
    from google.protobuf.message import Message
    from grpc import Channel

QUORUM_S = 15.0
"""Limit of a read. etcd itself gives up after its request's 5 s and two elections (server/config: ReqTimeout)."""
SNAPSHOT_S = 1800.0
"""Limit of a snapshot: 8 GiB, the most that etcd is meant for, at 5 MB/s."""
SILENT_S = 10
"""A connection that is silent for so long is asked whether it lives; etcd allows that every 5 s."""
OPTIONS = (
    ("grpc.enable_http_proxy", 0),  # a member is reached as its API is, not by the proxy of this machine
    ("grpc.keepalive_time_ms", SILENT_S * 1000),
    ("grpc.keepalive_timeout_ms", SILENT_S * 1000),
)
PACKAGE = "etcdserverpb"
MESSAGES = {
    "ResponseHeader": {"revision": (3, "TYPE_INT64")},
    "RangeRequest": {"key": (1, "TYPE_BYTES")},
    "RangeResponse": {"header": (1, "ResponseHeader")},
    "SnapshotResponse": {"remaining_bytes": (2, "TYPE_UINT64"), "blob": (3, "TYPE_BYTES")},
    "Member": {"ID": (1, "TYPE_UINT64"), "peerURLs": (3, "TYPE_STRING[]")},
    "MemberListRequest": {"linearizable": (1, "TYPE_BOOL")},
    "MemberListResponse": {"members": (2, "Member[]")},
    "MemberRemoveRequest": {"ID": (1, "TYPE_UINT64")},
}
"""The fields that are used of the messages, `[]` where repeated. Source: api/etcdserverpb/rpc.proto of etcd 3.6.8."""
OWN = "etcdserver: "
"""The start of each error of etcd itself; its codes are those of gRPC, too (api/v3rpc/rpctypes of etcd 3.6.8)."""
KEY = b"health"
"""The key that `etcdctl endpoint health` reads, which nobody needs to have (etcdctl/ctlv3/command/ep_command.go)."""


@dataclass(frozen=True)
class EtcdClient:
    """`EtcdMember` with the certificate of a client. A member's certificate must be for its address."""

    ca_pem: bytes
    certificate: bytes
    key: bytes = field(repr=False)

    def revision(self, address: str) -> int:
        """See `EtcdMember`: a range of etcd is linearizable, unless the request says otherwise."""
        with self._channel(address) as channel:
            read: Any = channel.unary_unary(f"/{PACKAGE}.KV/Range")
            request = _message("RangeRequest")(key=KEY).SerializeToString()
            answer: Any = _message("RangeResponse").FromString(read(request, timeout=QUORUM_S))
            return int(answer.header.revision)

    def snapshot(self, address: str) -> Iterator[Block]:
        """See `EtcdMember`."""
        with self._channel(address) as channel:
            stream: Any = channel.unary_stream(f"/{PACKAGE}.Maintenance/Snapshot")
            for part in stream(b"", timeout=SNAPSHOT_S):
                answer: Any = _message("SnapshotResponse").FromString(part)
                yield Block(answer.blob, answer.remaining_bytes)

    def members(self, address: str) -> dict[int, str]:
        """See `EtcdMember`."""
        with self._channel(address) as channel:
            read: Any = channel.unary_unary(f"/{PACKAGE}.Cluster/MemberList")
            request = _message("MemberListRequest")(linearizable=True).SerializeToString()
            answer: Any = _message("MemberListResponse").FromString(read(request, timeout=QUORUM_S))
            # One that was just added has no client URL yet, but always its peer URL.
            return {each.ID: urlsplit(each.peerURLs[0]).hostname or "" for each in answer.members if each.peerURLs}

    def remove(self, address: str, member: int) -> None:
        """See `EtcdMember`."""
        with self._channel(address) as channel:
            change: Any = channel.unary_unary(f"/{PACKAGE}.Cluster/MemberRemove")
            change(_message("MemberRemoveRequest")(ID=member).SerializeToString(), timeout=QUORUM_S)

    @contextmanager
    def _channel(self, address: str) -> Iterator["Channel"]:
        os.environ.setdefault("GRPC_VERBOSITY", "NONE")  # it would print what the error says
        import grpc  # noqa: PLC0415  (a preview connects to nothing)
        from google.protobuf.message import DecodeError  # noqa: PLC0415

        credentials = grpc.ssl_channel_credentials(self.ca_pem, self.key, self.certificate)
        try:
            with grpc.secure_channel(netloc(address, ETCD_PORT), credentials, OPTIONS) as channel:
                yield channel
        except grpc.RpcError as error:
            # All errors of a call are calls too; only the stubs do not say so.
            code, details = (getattr(error, name, lambda: None)() for name in ("code", "details"))
            says = short(str(details or ""))
            kind = DeclinedError if says.startswith(OWN) else ConnectionError
            raise kind(f"{code.name if code else 'failed'}: {says}") from None
        except DecodeError:
            raise ConnectionError("the answer is not one of etcd") from None


def _message(name: str) -> type["Message"]:
    return _messages()[name]


@cache
def _messages() -> dict[str, type["Message"]]:
    """Return the classes of `MESSAGES`."""
    from google.protobuf import json_format, message_factory  # noqa: PLC0415
    from google.protobuf.descriptor_pb2 import FileDescriptorProto  # noqa: PLC0415
    from google.protobuf.descriptor_pool import DescriptorPool  # noqa: PLC0415

    types = [{"name": name, "field": [*map(_field, fields.items())]} for name, fields in MESSAGES.items()]
    file = {"name": "rpc.proto", "package": PACKAGE, "syntax": "proto3", "messageType": types}
    pool = DescriptorPool()
    pool.Add(json_format.ParseDict(file, FileDescriptorProto()))
    return {
        name: message_factory.GetMessageClass(pool.FindMessageTypeByName(f"{PACKAGE}.{name}")) for name in MESSAGES
    }


def _field(of: tuple[str, tuple[int, str]]) -> dict[str, Any]:
    name, (number, kind) = of
    kind, repeated, _ = kind.partition("[]")
    reference = {"type": "TYPE_MESSAGE", "typeName": f".{PACKAGE}.{kind}"} if kind in MESSAGES else {"type": kind}
    label = "LABEL_REPEATED" if repeated else "LABEL_OPTIONAL"
    return {"name": name, "number": number, "label": label, **reference}
