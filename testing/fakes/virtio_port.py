"""A pseudo-terminal that stands in for the bootstrap's virtio-serial port."""

import os
import pty
import select
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

PORT = "/dev/virtio-ports/org.okd-baremetal.vip"
ANSWER_S = 10


@dataclass(frozen=True)
class VirtioPort:
    """The provisioner's end of the port."""

    master: int
    name: str
    """The device that the guest opens in place of `PORT`."""

    def send(self, word: str) -> str:
        """Send a word, and return the answer.

        Raises:
            TimeoutError: No answer within ANSWER_S.
        """
        os.write(self.master, f"{word}\n".encode())
        answer = b""
        while not answer.endswith(b"\n"):
            if not select.select([self.master], [], [], ANSWER_S)[0]:
                raise TimeoutError(f"no answer to {word}")
            answer += os.read(self.master, 100)
        return answer.decode().strip()


@contextmanager
def virtio_port() -> Iterator[VirtioPort]:
    """Open a port that passes bytes on unchanged."""
    master, port = pty.openpty()
    subprocess.run(["stty", "-F", os.ttyname(port), "raw", "-echo"], check=True)
    try:
        yield VirtioPort(master, os.ttyname(port))
    finally:
        os.close(master)
        os.close(port)
