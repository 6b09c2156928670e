"""What the two files of a stack must not have: keys that everybody ignores, and, in git, secrets in plain text."""

from collections.abc import Iterator, Mapping
from typing import Any

from base.errors import Fault, quoted, word
from cluster.install_config import InstallConfig
from cluster.install_config.platform import BARE
from cluster.options import Options
from cluster.stack_file import LOGINS, NOTIFY_URL, PREFIX, PULL_SECRET, is_encrypted
from cluster.values import pull_secret, web_hook

IN_GIT = "in plain text, as it would be in each commit"
NO_STACK = "take this file out of git, which keeps it on disk: `git rm --cached FILE`"


def misplaced_keys(stack_file: Any) -> Iterator[Fault]:
    """Yield the keys of a stack's file by which its author meant an option, and which this program does not read.

    Pulumi has keys of its own beside `config`, and in it those of other projects and providers.
    """
    for key in stack_file:
        if _means_an_option(key):
            fix = f"write it as {PREFIX}{_name(key)} below `config:`, or remove it"
            yield Fault(key, "not below `config:`: Pulumi does not read it, and may remove it", fix)
    for key in stack_file.get("config") or {}:
        if not key.startswith(PREFIX) and (_means_an_option(key) or ":" not in key):
            fix = f"write {PREFIX}{_name(key)}, or remove it"
            yield Fault(f"config: {key}", f"without the prefix {PREFIX} of this program's options", fix)


def plain_secrets_of_options(options: Mapping[str, Any]) -> Iterator[Fault]:
    """Yield the secrets of a stack's options that are not encrypted; `options` are as in the stack's file."""
    for name, command in ((PULL_SECRET, pull_secret.SET), (NOTIFY_URL, web_hook.SET)):
        if options.get(name) and not is_encrypted(options[name]):
            yield Fault(name, IN_GIT, f"set it with `{command}`")
    logins = options.get(LOGINS)
    for host, login in logins.items() if isinstance(logins, Mapping) and not is_encrypted(logins) else ():
        password = login.get("password") if isinstance(login, Mapping) else None
        if password and not is_encrypted(password):
            path = f'{LOGINS}["{host}"].password' if "." in host else f"{LOGINS}.{host}.password"
            yield Fault(path, IN_GIT, f"set it with `pulumi config set --secret --path {quoted(path)}`")


def plain_secrets_of_config(config: InstallConfig, stack: str) -> Iterator[Fault]:
    """Yield the secrets of an install-config that its stack could have.

    Args:
        config: The install-config.
        stack: Empty if it is that of none.
    """
    fix = f"move it into the stack: `okd-baremetal move-secrets {word(stack)}`" if stack else NO_STACK
    if config.pull_secret.get_secret_value():
        yield Fault("pullSecret", IN_GIT, fix)
    for index, host in enumerate(config.baremetal.hosts or ()):
        if host.bmc.password.get_secret_value():
            yield Fault(f"{BARE}.hosts[{index}].bmc.password", IN_GIT, fix)


def _means_an_option(key: str) -> bool:
    return key.startswith(PREFIX) or _name(key) in Options.model_fields


def _name(key: str) -> str:
    return key.rpartition(":")[2]
