"""Scalars without quotes, as Go reads them: the installer, Kubernetes and Pulumi.

Source: go.yaml.in/yaml v2.4.2, resolve.go, which sigs.k8s.io/yaml 1.6.0 calls. It mixes YAML 1.1 and 1.2.
"""

import math
import re

Scalar = str | bool | int | float | None

_WORDS: dict[str, Scalar] = {
    **{variant: None for word in ("", "~", "null") for variant in (word, word.capitalize(), word.upper())},
    **{variant: True for word in ("y", "yes", "true", "on") for variant in (word, word.capitalize(), word.upper())},
    **{variant: False for word in ("n", "no", "false", "off") for variant in (word, word.capitalize(), word.upper())},
    **{f"{sign}.{variant}": float(f"{sign}inf") for sign in ("", "+", "-") for variant in ("inf", "Inf", "INF")},
    **{f".{variant}": math.nan for variant in ("nan", "NaN", "NAN")},
}
_WHOLE = re.compile(r"([-+]?)(?:0[xX]([0-9a-fA-F]+)|0[bB]([01]+)|0[oO]?([0-7]+)|(0|[1-9][0-9]*))")
_BASES = (16, 2, 8, 10)
"""Of the groups of `_WHOLE`."""
_FRACTION = re.compile(r"[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?")


def scalar(text: str) -> Scalar:
    """Return the value of a scalar without quotes.

    Raises:
        ValueError: It has thousands of digits.
    """
    if text in _WORDS:
        return _WORDS[text]
    if text[0] not in "+-.0123456789":
        return text
    plain = text.replace("_", "")
    if (whole := _whole(plain)) is not None:
        return whole
    if _FRACTION.fullmatch(plain) and math.isfinite(fraction := float(plain)):
        return fraction
    return text


def _whole(plain: str) -> int | None:
    """Return a whole number of 64 bits, with a sign or without; None if the text is none."""
    if (match := _WHOLE.fullmatch(plain)) is None:
        return None
    sign, *digits = match.groups()
    number = next(int(text, base) for text, base in zip(digits, _BASES, strict=True) if text)
    number = -number if sign == "-" else number
    return number if -(2**63) <= number < 2 ** (63 if sign else 64) else None
