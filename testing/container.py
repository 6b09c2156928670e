"""A program as it runs in its container, by the capabilities that the container has."""

from assets.services import Service

ADDED = "--cap-add="


def confined(service: Service) -> list[str]:
    """Return the prefix of a command that gives root only the capabilities of the service's container."""
    (names,) = (option.removeprefix(ADDED) for option in service.container if option.startswith(ADDED))
    return ["setpriv", "--bounding-set", ",".join(["-all", *(f"+{name.lower()}" for name in names.split(","))])]
