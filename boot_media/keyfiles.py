"""NetworkManager keyfiles of a host's `networkConfig` (nmstate), which `nmstatectl gc` makes offline.

Both may hold secrets. Errors do not name the host; the caller adds its name.
"""

import json
import re
import subprocess
from collections import defaultdict
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from base.errors import BootMediaError, ConfigError
from base.masking import secret_keys
from base.yaml_text import parse_yaml
from boot_media.tools import NMSTATECTL_VERSION, SCRIPTS, find_nmstatectl
from cluster.plan.model import Keyfile

MAIN_TABLE = "254"
SECRET_KEYS = secret_keys("pass", "psk", "cak", r"^802\.1x$", without={"token"})
"""nmstate's `token` is a part of an IPv6 address. Misspelt names count, because the tool's refusal quotes their
values. A plain value of `802.1x` itself is most likely a misplaced password.
"""
UNESCAPED = re.compile(r"[\\\x00-\x1f]")
RULES = re.compile(r"(?:^routing-rule\d+=.*\n)+", re.M)
PLACE = re.compile(r" at line \d+ column \d+")  # in the tool's JSON input, which the operator never sees


def keyfiles_of(network_config: Mapping[str, Any]) -> tuple[Keyfile, ...]:
    """Return the keyfiles of a `networkConfig`, by name. The same document and tool version give the same bytes.

    Args:
        network_config: nmstate's document, of JSON types.

    Raises:
        BootMediaError: nmstatectl is missing or fails; or NetworkManager would read its answer differently; or its
            answer would vary from run to run.
    """
    nmstatectl = find_nmstatectl()
    for path, value in _scalars(network_config):
        _check(path, value)
    answer = _generated(nmstatectl, network_config)
    _check_rules(network_config)  # after the tool has validated the document's shape
    try:
        found = [(str(name), str(text)) for name, text in parse_yaml(answer)["NetworkManager"]]
    except (ConfigError, TypeError, KeyError, ValueError):
        fix = f"install nmstatectl {NMSTATECTL_VERSION}"
        raise BootMediaError("its output cannot be read", where=str(nmstatectl), fix=fix) from None
    texts = dict(found)
    if len(texts) < len(found) or any("/" in name or name.startswith(".") for name in texts):
        what = "a profile-name is used twice, starts with a dot or has a slash"
        raise BootMediaError(what, fix="choose another name: it becomes a file name")
    secret = _has_secrets(network_config)
    return tuple(
        Keyfile(name=name, text=RULES.sub(_sorted_rules, texts[name]), secret=secret) for name in sorted(texts)
    )


def _scalars(value: object, path: str = "") -> Iterator[tuple[str, object]]:
    """Yield each scalar with its path."""
    if isinstance(value, Mapping):
        for key, each in value.items():
            yield from _scalars(each, f"{path}.{key}" if path else str(key))
    elif isinstance(value, list):
        for index, each in enumerate(value):
            yield from _scalars(each, f"{path}[{index}]")
    else:
        yield path, value


def _check(path: str, value: object) -> None:
    """Refuse a value that the tool accepts but writes wrongly."""
    if not isinstance(value, str):
        return
    if UNESCAPED.search(value):
        what = "a backslash or a control character (a line break is one), which nmstatectl does not escape"
        raise BootMediaError(what, where=path, fix="remove it")
    if value.startswith("sriov:"):
        what = "sriov:<card>:<number> can be resolved only on a running host"
        raise BootMediaError(what, where=path, fix="write the name of that virtual function, such as eno1v0")


def _check_rules(network_config: Mapping[str, Any]) -> None:
    """Refuse a rule that fits several interfaces: nmstatectl would choose one of them at random."""
    interfaces = defaultdict[str, set[str]](set)
    for route in _entries(network_config, "routes"):
        if interface := route.get("next-hop-interface"):
            interfaces[str(route.get("table-id") or MAIN_TABLE)].add(interface)
    for rule in _entries(network_config, "route-rules"):
        table = str(rule.get("route-table") or MAIN_TABLE)
        if len(interfaces[table]) > 1 and not rule.get("iif"):
            several = ", ".join(sorted(interfaces[table]))
            what = f"table {table} has routes through {several}; nmstatectl would add its rules to a random one"
            raise BootMediaError(what, where="route-rules", fix="give each interface a table of its own")


def _entries(network_config: Mapping[str, Any], key: str) -> list[dict[str, Any]]:
    """Return the configured entries of `routes` or `route-rules`."""
    listed = (network_config.get(key) or {}).get("config") or []
    return [each for each in listed if each.get("state") != "absent"]


def _generated(nmstatectl: Path, network_config: Mapping[str, Any]) -> str:
    """Run the tool on the document, and return its output."""
    run = _run(nmstatectl, network_config)
    if not run.returncode:
        return run.stdout
    # Run it again without secrets, because it quotes the text that it refuses.
    run = _run(nmstatectl, _without_secrets(network_config))
    reason = run.stderr if run.returncode else "a password or another secret in it is malformed"
    what = f"nmstatectl refuses it: {' '.join(PLACE.sub('', reason).split())[:400]}"
    raise BootMediaError(what, fix="correct it according to nmstate's documentation")


def _run(nmstatectl: Path, document: object) -> subprocess.CompletedProcess[str]:
    command = [str(nmstatectl), "-q", "gc", "/dev/stdin"]
    text = json.dumps(document, ensure_ascii=False)
    try:
        return subprocess.run(  # noqa: S603
            command, input=text, capture_output=True, encoding="utf-8", errors="replace", check=False
        )
    except OSError as error:
        what = f"cannot be run ({error.strerror})"
        raise BootMediaError(what, where=str(nmstatectl), fix=f"run {SCRIPTS}/nmstatectl") from None


def _has_secrets(value: Any) -> bool:
    if isinstance(value, Mapping):
        return any(SECRET_KEYS.search(str(key)) or _has_secrets(each) for key, each in value.items())
    return isinstance(value, list) and any(map(_has_secrets, value))


def _without_secrets(value: Any, key: str = "") -> Any:
    """Return a copy with each secret replaced by a value of its type and length."""
    if isinstance(value, Mapping):
        return {name: _without_secrets(each, str(name)) for name, each in value.items()}
    if isinstance(value, list):
        return [_without_secrets(each, key) for each in value]
    if not SECRET_KEYS.search(key):
        return value
    return "*" * len(value) if isinstance(value, str) else type(value)()


def _sorted_rules(rules: re.Match[str]) -> str:
    """Sort and renumber rules: the tool keeps them in a hash table, whose order changes from run to run."""
    values = sorted(line.partition("=")[2] for line in rules[0].strip("\n").split("\n"))
    return "".join(f"routing-rule{number}={value}\n" for number, value in enumerate(values))
