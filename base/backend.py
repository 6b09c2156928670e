"""The login of the state's backend: Pulumi's own errors quote the whole URL, and many of them are passed on.

Whatever runs Pulumi, or reads what it printed, calls `without_login` first.
"""

import os
import re
from urllib.parse import unquote

from base.masking import MASK, mask_logins, passwords_in

VARIABLE = "PULUMI_BACKEND_URL"
SHORTEST = 4
"""Characters of a password that is masked outside a URL, too. A shorter one would be found in most words."""


def without_login(text: str) -> str:
    """Return a text of Pulumi without the logins in its URLs, and the backend's password in any spelling."""
    for password in passwords_in(os.environ.get(VARIABLE, "")):
        plain = unquote(password, errors="surrogateescape")
        if len(plain) >= SHORTEST:
            text = re.sub("".join(map(_spelled, plain)), MASK, text, flags=re.IGNORECASE)
    return mask_logins(text)


def _spelled(char: str) -> str:
    """Return the pattern of a character as it is, escaped, and as URLs and JSON encode it, also encoded twice."""
    percent = "".join(f"%{byte:02x}" for byte in char.encode(errors="surrogateescape"))
    spellings = char, char.replace(" ", "+"), percent, percent.replace("%", "%25")
    return rf"(?:\\?(?:{'|'.join(map(re.escape, spellings))})|\\u{ord(char):04x})"
