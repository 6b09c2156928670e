"""Text that Hypothesis draws for the fields of an install-config."""

from hypothesis import strategies as st

from testing.install_configs import SECRETS


def any_text(max_size: int | None = None) -> st.SearchStrategy[str]:
    """Return text that may be printed: Hypothesis also draws constants of the source, even the fixture's secrets."""
    return st.text(max_size=max_size).filter(lambda text: not any(secret in text for secret in SECRETS))
