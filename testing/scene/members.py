"""The members of a control plane behind one node's haproxy, for clients that know which member serves them."""

import socket
import ssl
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from functools import partial
from http import HTTPStatus
from http.client import HTTPConnection
from pathlib import Path

from cryptography import x509

from assets.contract import API_PORT, BALANCER_PORT, MONITOR_PORT
from payload.pem import names_of
from testing.certificates import authority
from testing.scene.cluster import DOMAIN, Cluster, cluster_of
from testing.scene.machine import Machine, until
from wires.api.https import connect_problem

API = "stand_in_api.py"
CA = "test-ca"
ATTEMPT_S = 5.0
"""A client's limit of each step: connect, handshake, answer."""


@dataclass(frozen=True)
class Members:
    """The nodes with their API servers, and the first node's haproxy before them."""

    nodes: list[Machine]
    client: ssl.SSLContext

    @property
    def balancer(self) -> Machine:
        """The node whose haproxy the clients use."""
        return self.nodes[0]

    def start(self) -> None:
        """Start haproxy once all members listen, and wait until its first checks have ended.

        Until then, one failed check ends a member.
        """
        for node in self.nodes:
            until(f"{node.name} listens", partial(_listens, str(node.addresses[0]), API_PORT))
        self.balancer.start_haproxy()
        until("haproxy answers", partial(_answers, self.address, MONITOR_PORT, "/haproxy_monitor"))

    @property
    def address(self) -> str:
        """The address at which haproxy serves."""
        return str(self.balancer.addresses[0])

    def node(self, name: str) -> Machine:
        """Return a member's machine."""
        return next(node for node in self.nodes if node.name == name)

    def reported(self, change: str) -> bool:
        """Return whether haproxy has reported this change of a member."""
        return f"Server control_plane/{change}" in self.balancer.log("haproxy")

    def connect(self) -> tuple[ssl.SSLSocket, str]:
        """Open a connection through haproxy; return it, and the name of the member that serves it.

        Raises:
            OSError: No member showed its certificate in time.
        """
        plain = socket.create_connection((self.address, BALANCER_PORT), timeout=ATTEMPT_S)
        connection = self.client.wrap_socket(plain, server_hostname=f"api.{DOMAIN}")
        shown = connection.getpeercert(binary_form=True)
        assert shown
        return connection, names_of(x509.load_der_x509_certificate(shown))[-1]

    def serving(self, connects: int) -> list[str]:
        """Return which members serve this many connections, one after the other.

        Raises:
            OSError: As `connect`.
        """
        names = []
        for _ in range(connects):
            connection, name = self.connect()
            connection.close()
            names.append(name)
        return names

    @contextmanager
    def to_each(self) -> Iterator[dict[str, ssl.SSLSocket]]:
        """Yield an open connection with each member.

        Raises:
            OSError: As `connect`.
        """
        with ExitStack() as stack:
            connections: dict[str, ssl.SSLSocket] = {}
            while len(connections) < len(self.nodes):
                connection, name = self.connect()
                connections[name] = stack.enter_context(connection)
            yield connections


def ended(connection: ssl.SSLSocket, deadline_s: float) -> bool:
    """Return whether the other end closes a silent connection in time."""
    connection.settimeout(deadline_s)
    try:
        return not connection.recv(1)
    except (TimeoutError, ssl.SSLWantReadError):
        return False
    except OSError:
        return True


@contextmanager
def members_of(name: str, folder: Path) -> Iterator[Members]:
    """Run the API servers of a cluster of `testing.clusters`, each with a certificate that names its node."""
    ca = authority(CA)
    with cluster_of(name, folder, certificate="") as cluster:
        for node in cluster.nodes:
            _start_api(cluster, node)
        yield Members([*cluster.nodes.values()], ssl.create_default_context(cadata=ca.pem))


def _start_api(cluster: Cluster, node: str) -> None:
    pair, path = authority(CA).issue([f"api.{DOMAIN}", node]), cluster.nodes[node].folder / "api.pem"
    path.write_text(pair.key + pair.certificate + authority(CA).pem)
    cluster.nodes[node].start_api(str(path))


def _listens(address: str, port: int) -> bool:
    return connect_problem(address, port) is None


def _answers(address: str, port: int, path: str) -> bool:
    connection = HTTPConnection(address, port, timeout=ATTEMPT_S)
    try:
        connection.request("GET", path)
        return connection.getresponse().status == HTTPStatus.OK
    except OSError:
        return False
    finally:
        connection.close()
