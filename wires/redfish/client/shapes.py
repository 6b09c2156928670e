"""The shapes of what leaves the client: sushy hands out whatever the BMC sent in place of a text."""


def text(value: object) -> str:
    """Return a text; empty if the BMC reports none.

    Raises:
        TypeError: It is no text.
    """
    if value is None or isinstance(value, str):
        return value or ""
    raise TypeError(f"{type(value).__name__} in place of a text")


def texts(value: object) -> tuple[str, ...]:
    """Return a list of texts; empty if the BMC reports none.

    Raises:
        TypeError: It is no list of texts.
    """
    if value is None or isinstance(value, list):
        return tuple(map(text, value or ()))
    raise TypeError(f"{type(value).__name__} in place of a list")
