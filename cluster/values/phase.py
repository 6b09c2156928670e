"""The phases of a cluster's life."""

from enum import StrEnum


class Phase(StrEnum):
    """The phase that the next `pulumi up` brings a cluster to, or keeps it in."""

    BOOTSTRAP = "bootstrap"
    PRODUCTION = "production"
