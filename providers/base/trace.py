"""The trace: `OKD_BAREMETAL_TRACE=<file> pulumi up` writes every request, answer and libvirt call, secrets masked.

It belongs in a report about a BMC or a libvirt that deviates.
"""

import logging
import os

VARIABLE = "OKD_BAREMETAL_TRACE"
TRACED = ("wires",)
"""Names of the traced loggers: the packages that write to them."""
FORMAT = "%(asctime)s %(threadName)s %(name)s %(message)s"
OWNER_ALONE = 0o600


def start_trace() -> None:
    """Start the trace if the environment names a file; a second call changes nothing."""
    path = os.environ.get(VARIABLE)
    if not path or any(logging.getLogger(name).handlers for name in TRACED):
        return
    os.close(os.open(path, os.O_CREAT | os.O_APPEND | os.O_WRONLY, OWNER_ALONE))
    handler = logging.FileHandler(path)
    handler.setFormatter(logging.Formatter(FORMAT))
    for name in TRACED:
        logger = logging.getLogger(name)
        logger.addHandler(handler)
        logger.setLevel(logging.DEBUG)
