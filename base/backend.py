"""What whoever runs Pulumi's CLI gives it of the environment, and hides of what it says.

Its errors quote the whole URL of the state's backend, with the login, and many of them are passed on. Whatever runs
Pulumi, or reads what it printed, calls `without_login` first.
"""

import os
import re
from urllib.parse import unquote

from base.masking import MASK, mask_logins, passwords_in

VARIABLE = "PULUMI_BACKEND_URL"
SHORTEST = 4
"""Characters of a password that is masked outside a URL, too. A shorter one would be found in most words."""
CHANGES_A_COMMAND = re.compile("PULUMI_OPTION_.*|PULUMI_ENABLE_STREAMING_JSON_PREVIEW")
"""Variables that give a command options which its caller did not, or change the form of what it prints (3.259.0)."""


def environment() -> dict[str, str]:
    """Return the environment of a command of Pulumi, which then does what its caller has written, and no more."""
    return {name: value for name, value in os.environ.items() if not CHANGES_A_COMMAND.fullmatch(name)}


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
