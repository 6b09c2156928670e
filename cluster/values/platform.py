"""The platform of the cluster that is installed; that of the install-config is always baremetal."""

from enum import StrEnum


class ClusterPlatform(StrEnum):
    """The platform in the payload. It can never be changed (ADR 60)."""

    NONE = "none"
    """This program brings keepalived, haproxy and CoreDNS."""
    BAREMETAL = "baremetal"
    """The machine-config operator brings them to the nodes."""

    @property
    def in_status(self) -> str:
        """Its name in the status of the cluster's infrastructure."""
        return {ClusterPlatform.NONE: "None", ClusterPlatform.BAREMETAL: "BareMetal"}[self]
