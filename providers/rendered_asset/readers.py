"""Every real reader of this machine asked about a whole tree; `providers.rendered_asset.lint` has those that a run asks as well."""

import os
import re
import shutil
import subprocess
import tempfile
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from subprocess import PIPE

from assets.render import Reader, RenderedFile
from assets.tree import Folders, lay_out
from boot_media.iso import cache_dir
from providers.base.errors import AssetError
from providers.rendered_asset import lint

PROGRAM = re.compile(r"^Exec\w+=[-@:+!]*/(\S+)", re.M)
FILE = "/FILE"  # for a reader that wants to open a file of that content itself
NO_OTHER_CONFIG = (f"--config={FILE}", *(f"--{name}-dir=/nonexistent" for name in ("config", "system-config")))
UPSTREAMS = b"/run/okd-baremetal/upstreams"
NO_NETWORK = "it wants root, or user namespaces"
OWN_NETWORK = ("unshare", "--map-root-user", "--net")  # nft asks the kernel, as root of a network


@dataclass(frozen=True)
class Verdict:
    """What one reader says."""

    reader: str
    judged: int = 0
    refusals: tuple[str, ...] = ()
    """A line per file that it does not take."""
    not_run: str = ""
    """Why it was not asked; empty: it was."""

    def __str__(self) -> str:
        good = f"{self.judged - len(self.refusals)} of {self.judged} good"
        return f"{self.reader}: {f'not run: {self.not_run}' if self.not_run else good}"


def ask_readers(folders: Folders, ignitions: Mapping[str, bytes]) -> list[Verdict]:
    """Ask them all.

    Args:
        folders: As `assets.tree.folders_of` gives them.
        ignitions: Ignition configs by path.
    """
    return [
        *(_linted(reader, folders) for reader in lint.COMMANDS),
        _nft(_texts(folders, Reader.NFT)),
        _asked("shellcheck", _texts(folders, Reader.BASH), "-"),
        _asked("NetworkManager", _texts(folders, Reader.NETWORK_MANAGER), *NO_OTHER_CONFIG, "--print-config"),
        _asked("nmcli", _texts(folders, Reader.KEYFILE), "--offline", "connection", "modify", "connection.id", "any"),
        _dhclient(_texts(folders, Reader.DHCLIENT)),
        _systemd(folders),
        _asked("ignition-validate", ignitions, "-"),
        _coredns(_texts(folders, Reader.COREDNS)),
    ]


def _texts(folders: Folders, reader: Reader) -> dict[str, bytes]:
    return {
        f"{folder}{file.path}": file.text.encode()
        for folder, files in folders.items()
        for file in files
        if file.reader is reader
    }


def _linted(reader: Reader, folders: Folders) -> Verdict:
    judged, refusals = 0, list[str]()
    for folder, files in folders.items():
        for file in files:
            if file.reader is reader:
                try:
                    judged += lint.lint(file)
                except AssetError as error:
                    judged += 1
                    refusals.append(f"{folder}{error}")
    not_run = "" if judged else "not installed"
    if not_run and shutil.which(reader, path=lint.PATH):
        not_run = "no interface of this machine can do multicast"
    return Verdict(reader, judged, tuple(refusals), not_run)


def _nft(texts: Mapping[str, bytes]) -> Verdict:
    return _asked("nft", texts, "--check", "--file", "-", within=OWN_NETWORK)


def _dhclient(texts: Mapping[str, bytes]) -> Verdict:
    """It complains of lines, and ends well all the same; where it has no interface it does nothing else."""
    quietly = ("-4", "-n", "-d", "-cf", FILE, "-lf", "/dev/null", "-pf", "/dev/null")
    return _asked("dhclient", texts, *quietly, within=OWN_NETWORK, complaint=rb" line \d+: ")


def _coredns(texts: Mapping[str, bytes]) -> Verdict:
    """It judges a Corefile only by serving it: in a network where nobody hears, and then it is ended."""
    program = _find("coredns")
    if not_run := _cannot(program, OWN_NETWORK):
        return Verdict("coredns", not_run=not_run)
    answers = [_unserved(path, program, text) for path, text in texts.items()]
    return Verdict("coredns", len(answers), tuple(filter(None, answers)))


def _unserved(path: str, program: str, text: bytes) -> str:
    """One line if the Corefile is not served, else nothing. The site's servers are in a file of the machine's."""
    command = [*OWN_NETWORK, program, "-conf", "stdin"]
    with subprocess.Popen(command, stdin=PIPE, stdout=PIPE, stderr=subprocess.STDOUT) as process:  # noqa: S603
        assert process.stdin is not None  # noqa: S101  (pipes were asked for)
        assert process.stdout is not None  # noqa: S101
        process.stdin.write(text.replace(UPSTREAMS, b"127.0.0.1"))
        process.stdin.close()
        said = b""
        for line in process.stdout:
            if line.startswith(b"CoreDNS-"):
                process.kill()
                return ""
            said += line
    return _told(path, said)


def _systemd(folders: Folders) -> Verdict:
    """Each unit, where the files are that it starts."""
    name = "systemd-analyze"
    program, answers = _find(name), list[str]()
    if not_run := _cannot(program):
        return Verdict(name, not_run=not_run)
    for folder, files in folders.items():
        units = [file for file in files if file.reader is Reader.SYSTEMD]
        with tempfile.TemporaryDirectory() as root:
            lay_out(Path(root), files)
            _stand_ins(Path(root), units)
            verify = [program, "verify", "--man=no", "--recursive-errors=no", f"--root={root}"]
            refusals = [_refusal(f"{folder}{unit.path}", [*verify, unit.name]) for unit in units]
        answers += [refusal.replace(root, "") for refusal in refusals]
    return Verdict(name, len(answers), tuple(filter(None, answers)))


def _stand_ins(root: Path, units: Iterable[RenderedFile]) -> None:
    """Programs of the machine's image: to be there and executable is all that is asked of them."""
    for unit in units:
        for program in PROGRAM.findall(unit.text):
            (root / program).parent.mkdir(parents=True, exist_ok=True)
            (root / program).touch(0o755)


def _asked(
    name: str, contents: Mapping[str, bytes], *options: str, within: Sequence[str] = (), complaint: bytes = b""
) -> Verdict:
    """Ask a reader that judges its standard input, or one file."""
    program = _find(name)
    if not_run := _cannot(program, within):
        return Verdict(name, not_run=not_run)
    command = [*within, program, *options]
    answers = [_refusal(path, command, content, complaint) for path, content in contents.items()]
    return Verdict(name, len(contents), tuple(filter(None, answers)))


def _find(name: str) -> str:
    """From PATH, from sbin, or what the lab built; empty: it is nowhere."""
    places = (os.environ.get("PATH", ""), lint.PATH, str(cache_dir() / "bin"))
    return shutil.which(name, path=os.pathsep.join(places)) or ""


def _cannot(program: str, within: Sequence[str] = ()) -> str:
    """Why a reader cannot be asked; empty: it can."""
    if not program:
        return "not installed"
    return NO_NETWORK if within and _refusal("", [*within, "true"]) else ""


def _refusal(path: str, command: Sequence[str], content: bytes = b"", complaint: bytes = b"") -> str:
    """One line if the reader refuses, by its end or by a complaint, else nothing."""
    with tempfile.NamedTemporaryFile() as file:
        file.write(content)
        file.flush()
        words = [word.replace(FILE, file.name) for word in command]
        run = subprocess.run(words, input=content, capture_output=True, check=False)  # noqa: S603
        said = (run.stderr or run.stdout).replace(file.name.encode(), b"it")
    refused = run.returncode or (complaint and re.search(complaint, said))
    return _told(path, said) if refused else ""


def _told(path: str, said: bytes) -> str:
    return f"{path}: refused: {' '.join(said.decode(errors='replace').split())[:400]}"
