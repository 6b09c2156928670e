"""Has rendered files checked by their real readers, if those are installed on this machine.

`pulumi up` checks one file at a time (`lint`); `okd-baremetal render --check` checks a whole tree (`run_readers`).
"""

import os
import pwd
import re
import shutil
import subprocess
import tempfile
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from subprocess import PIPE

from assets.contract import UPSTREAMS
from assets.file import Folders, Reader, RenderedFile
from base.errors import AssetError, Fault
from base.files import write_private
from boot_media.tools import cache_dir

PATH = (
    "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"  # readers are in sbin, which a user's PATH lacks
)
ENVIRONMENT = {"PATH": PATH}
"""That of each reader: an operator's SHELLCHECK_OPTS would have it refuse good files, and ~/.shellcheckrc, too."""
IFF_LOOPBACK, IFF_MULTICAST = 0x8, 0x1000
COMMANDS: dict[Reader, tuple[str, ...]] = {
    Reader.KEEPALIVED: ("keepalived", "--config-test", "--use-file"),
    Reader.HAPROXY: ("haproxy", "-c", "-f"),
    Reader.DNSMASQ: ("dnsmasq", "--test", "-C"),
    Reader.BASH: ("bash", "-n"),
}
"""Readers that check a file on any machine; nft needs root, systemd and CoreDNS a running machine."""
PROGRAM = re.compile(r"^Exec\w+=[-@:+!]*/(\S+)", re.M)
FILE = "/FILE"  # in a command, stands for a temporary file, for a reader that does not read its standard input
NO_OTHER_CONFIG = (f"--config={FILE}", *(f"--{name}-dir=/nonexistent" for name in ("config", "system-config")))
NO_NETWORK = "it wants root, or user namespaces"
OWN_NETWORK = ("unshare", "--map-root-user", "--net")  # nft asks the kernel, and must be root of its network
FIX = "look at it with `okd-baremetal render`; if your inputs are right, report it as a defect of this program"


@dataclass(frozen=True)
class ReaderResult:
    """The result of one reader."""

    reader: str
    checked: int = 0
    """Number of files that it checked."""
    refusals: tuple[Fault, ...] = ()
    """One fault per file that it refuses."""
    not_run: str = ""
    """Why the reader did not run; empty if it did."""

    def __str__(self) -> str:
        good = f"{self.checked - len(self.refusals)} of {self.checked} good"
        ran = good if self.checked else "no file is for it"
        return f"{self.reader}: {f'not run: {self.not_run}' if self.not_run else ran}"


def lint(file: RenderedFile) -> bool:
    """Have one file checked by its reader.

    Returns:
        Whether the reader ran.

    Raises:
        AssetError: The reader refuses the file; the message begins with the reader's own words.
    """
    command = COMMANDS.get(file.reader)
    if command is None or shutil.which(command[0], path=PATH) is None:
        return False
    if file.reader is Reader.KEEPALIVED and _not_for_keepalived():
        return False
    with tempfile.TemporaryDirectory() as folder:
        copy = Path(folder, file.name)
        copy.write_text(FOR_ANY_MACHINE.get(file.reader, str)(file.text))
        run = subprocess.run(  # noqa: S603
            [*command, str(copy)], capture_output=True, text=True, env=ENVIRONMENT, check=False
        )
    if run.returncode:
        answer = (run.stderr or run.stdout).replace(str(copy), file.path)
        raise AssetError(f"{command[0]} refuses it: {_shortened(answer)}", where=file.path, fix=FIX)
    return True


def run_readers(folders: Folders, ignitions: Mapping[str, bytes]) -> list[ReaderResult]:
    """Have all files checked by every reader that this machine has.

    Args:
        folders: Rendered files, as `assets.render.Rendered.folders` holds them.
        ignitions: Ignition configs by path.
    """
    return [
        *(_linted(reader, folders) for reader in COMMANDS),
        _run_reader("nft", _texts(folders, Reader.NFT), "--check", "--file", "-", within=OWN_NETWORK),
        _run_reader("shellcheck", _texts(folders, Reader.BASH), "-"),
        _run_reader("NetworkManager", _texts(folders, Reader.NETWORK_MANAGER), *NO_OTHER_CONFIG, "--print-config"),
        _run_reader(
            "nmcli", _texts(folders, Reader.KEYFILE), "--offline", "connection", "modify", "connection.id", "any"
        ),
        _dhclient(_texts(folders, Reader.DHCLIENT)),
        _tmpfiles(_texts(folders, Reader.TMPFILES)),
        _systemd(folders),
        _run_reader("ignition-validate", ignitions, "-"),
        _coredns(_texts(folders, Reader.COREDNS)),
    ]


def lay_out(root: Path, files: Iterable[RenderedFile]) -> None:
    """Write files below `root` at the paths that they have on a machine."""
    for file in files:
        write_private(root / file.path.removeprefix("/"), file.text, file.mode)


def _keepalived_for_any_machine(text: str) -> str:
    """Replace what keepalived looks up with what this machine has: interface, scripts, and the user who runs them.

    Any other user than root is refused scripts of root as insecure, whatever they are (keepalived 2.2.7).
    """
    text = re.sub("@INTERFACE:.*@", _vrrp_interface() or "", text)
    text = re.sub(r'script ".*"', 'script "/bin/true"', text)
    return text.replace("script_user root", f"script_user {_user_name()}")


FOR_ANY_MACHINE: dict[Reader, Callable[[str], str]] = {Reader.KEEPALIVED: _keepalived_for_any_machine}


def _vrrp_interface() -> str | None:
    """Return an interface of this machine that keepalived accepts (multicast, not loopback), or None."""
    for folder in sorted(Path("/sys/class/net").iterdir()):
        flags = folder / "flags"
        if flags.exists() and int(flags.read_text(), 16) & (IFF_MULTICAST | IFF_LOOPBACK) == IFF_MULTICAST:
            return folder.name
    return None


def _user_name() -> str | None:
    """Return the name of this process's user, or None: in a container, a user may have only a number."""
    try:
        return pwd.getpwuid(os.geteuid()).pw_name
    except KeyError:
        return None


def _not_for_keepalived() -> str:
    """Return why keepalived cannot check a file on this machine; empty if it can."""
    if _vrrp_interface() is None:
        return "no interface of this machine can do multicast"
    return "" if _user_name() else "this user has no name, and keepalived wants one"


def _texts(folders: Folders, reader: Reader) -> dict[str, bytes]:
    return {
        f"{folder}{file.path}": file.text.encode()
        for folder, files in folders.items()
        for file in files
        if file.reader is reader
    }


def _linted(reader: Reader, folders: Folders) -> ReaderResult:
    own = [(folder, file) for folder, files in folders.items() for file in files if file.reader is reader]
    checked, refusals = 0, list[Fault]()
    for folder, file in own:
        try:
            checked += lint(file)
        except AssetError as error:
            checked += 1
            refusals.append(Fault(f"{folder}{error.fault.where}", error.fault.what, error.fault.fix))
    not_run = "" if checked or not own else "not installed"
    if not_run and shutil.which(reader, path=PATH):
        not_run = _not_for_keepalived()
    return ReaderResult(reader, checked, tuple(refusals), not_run)


def _dhclient(texts: Mapping[str, bytes]) -> ReaderResult:
    """Ask dhclient, which exits with 0 even if it complains of a line; without an interface it does nothing else."""
    quietly = ("-4", "-n", "-d", "-cf", FILE, "-lf", "/dev/null", "-pf", "/dev/null")
    return _run_reader("dhclient", texts, *quietly, within=OWN_NETWORK, complaint=rb" line \d+: ")


def _tmpfiles(texts: Mapping[str, bytes]) -> ReaderResult:
    """Ask systemd-tmpfiles, which checks a file by creating what it lists: as root, below a folder of its own."""
    with tempfile.TemporaryDirectory() as root:
        return _run_reader("systemd-tmpfiles", texts, "--create", f"--root={root}", "-", within=OWN_NETWORK)


def _coredns(texts: Mapping[str, bytes]) -> ReaderResult:
    """Ask CoreDNS, which checks a Corefile only by serving it: start it in its own network, then kill it."""
    program = _find("coredns")
    if not_run := _cannot(program, OWN_NETWORK):
        return ReaderResult("coredns", not_run=not_run)
    answers = [_unserved(path, program, text) for path, text in texts.items()]
    return ReaderResult("coredns", len(answers), tuple(filter(None, answers)))


def _unserved(path: str, program: str, text: bytes) -> Fault | None:
    """Return why CoreDNS does not serve a Corefile, or None if it does.

    Replace the path of the site's DNS servers, a file that only the target machine has.
    """
    command = [*OWN_NETWORK, program, "-conf", "stdin"]
    with subprocess.Popen(  # noqa: S603
        command, env=ENVIRONMENT, stdin=PIPE, stdout=PIPE, stderr=subprocess.STDOUT
    ) as process:
        assert process.stdin is not None  # noqa: S101  (pipes were asked for)
        assert process.stdout is not None  # noqa: S101
        process.stdin.write(text.replace(UPSTREAMS.encode(), b"127.0.0.1"))
        process.stdin.close()
        answer = b""
        for line in process.stdout:
            if line.startswith(b"CoreDNS-"):
                process.kill()
                return None
            answer += line
    return _refused(path, answer)


def _systemd(folders: Folders) -> ReaderResult:
    """Ask systemd about each unit, in a tree that has the files which the unit starts."""
    name = "systemd-analyze"
    program, answers = _find(name), list[Fault | None]()
    if not_run := _cannot(program):
        return ReaderResult(name, not_run=not_run)
    for folder, files in folders.items():
        units = [file for file in files if file.reader is Reader.SYSTEMD and not file.is_mask]
        with tempfile.TemporaryDirectory() as root:
            lay_out(Path(root), files)
            _make_programs(Path(root), units)
            verify = [program, "verify", "--man=no", "--recursive-errors=no", f"--root={root}"]
            answers += [_refusal(f"{folder}{unit.path}", [*verify, unit.name], hide=root) for unit in units]
    return ReaderResult(name, len(answers), tuple(filter(None, answers)))


def _make_programs(root: Path, units: Iterable[RenderedFile]) -> None:
    """Create empty programs in place of those in the machine's image: systemd only checks that they can run."""
    for unit in units:
        for program in PROGRAM.findall(unit.text):
            (root / program).parent.mkdir(parents=True, exist_ok=True)
            (root / program).touch(0o755)


def _run_reader(
    name: str, contents: Mapping[str, bytes], *options: str, within: Sequence[str] = (), complaint: bytes = b""
) -> ReaderResult:
    """Ask a reader that checks its standard input or one file."""
    program = _find(name)
    if not_run := _cannot(program, within):
        return ReaderResult(name, not_run=not_run)
    command = [*within, program, *options]
    answers = [_refusal(path, command, content, complaint) for path, content in contents.items()]
    return ReaderResult(name, len(contents), tuple(filter(None, answers)))


def _find(name: str) -> str:
    """Return the program's path from PATH, from sbin or from the lab's builds; empty if it is missing."""
    places = (os.environ.get("PATH", ""), PATH, str(cache_dir() / "bin"))
    return shutil.which(name, path=os.pathsep.join(places)) or ""


def _cannot(program: str, within: Sequence[str] = ()) -> str:
    """Return why a reader cannot run; empty if it can."""
    if not program:
        return "not installed"
    return NO_NETWORK if within and _refusal("", [*within, "true"]) else ""


def _refusal(
    path: str, command: Sequence[str], content: bytes = b"", complaint: bytes = b"", *, hide: str = "\0"
) -> Fault | None:
    """Run a reader, and return its refusal (an exit code other than 0, or a complaint), or None."""
    with tempfile.NamedTemporaryFile() as file:
        file.write(content)
        file.flush()
        words = [word.replace(FILE, file.name) for word in command]
        run = subprocess.run(words, env=ENVIRONMENT, input=content, capture_output=True, check=False)  # noqa: S603
        answer = (run.stderr or run.stdout).replace(file.name.encode(), b"it").replace(hide.encode(), b"")
    refused = run.returncode or (complaint and re.search(complaint, answer))
    return _refused(path, answer) if refused else None


def _refused(path: str, answer: bytes) -> Fault:
    return Fault(path, f"refused: {_shortened(answer.decode(errors='replace'))}", FIX)


def _shortened(answer: str) -> str:
    return " ".join(answer.split())[:400]
