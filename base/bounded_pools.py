"""urllib3's pools over sockets that keep a thread's `time_limit`."""

import socket

from urllib3 import HTTPSConnectionPool
from urllib3.connection import HTTPConnection
from urllib3.connectionpool import HTTPConnectionPool

from base.bounded_answer import PlainSocket


class _PlainConnection(HTTPConnection):
    def _new_conn(self) -> socket.socket:
        return PlainSocket.over(super()._new_conn())


class _PlainPool(HTTPConnectionPool):
    ConnectionCls = _PlainConnection


POOLS = {"http": _PlainPool, "https": HTTPSConnectionPool}
"""By scheme. The TLS context of HTTPS must make sockets of the class `TlsSocket`."""
