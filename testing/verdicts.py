"""This program's verdicts on install-configs as data, to hold them against those of a real openshift-install.

A line for each fault, with tabs between: file, exit code of `okd-baremetal check FILE`, field, rule. A file without
faults is one line without field and rule. Whoever has an openshift-install compares its exit code of `create
manifests` with the second column: 0 and 3 are files that it takes, 2 is one that it refuses.
"""

import argparse
from collections.abc import Iterator, Mapping

from base.errors import ConfigError, Fault
from cli.inspect.check import check_file
from cli.shared.command_line import EXIT_INVALID, EXIT_NOT_INSTALLABLE, EXIT_OK
from cluster.install_config import read
from cluster.install_config.releases import Release


def rows(file: str, release: Release | None) -> Iterator[tuple[str, str, str, str]]:
    """Yield the lines of one file."""
    checked = check_file(file, release=release)
    code = EXIT_INVALID if checked.faults else EXIT_NOT_INSTALLABLE if checked.refusals else EXIT_OK
    rules: Mapping[Fault, str] = {}
    try:
        rules, other = read(checked.text, release=release).rules, "plan.refusals"
    except ConfigError:
        other = "yaml_text"
    for fault in (*checked.faults, *checked.refusals):
        yield file, str(code), fault.where, rules.get(fault, other)
    if code == EXIT_OK:
        yield file, str(code), "", ""


def _release(text: str) -> Release:
    release = Release.of(text)
    if release is None:
        raise argparse.ArgumentTypeError(f"{text} is not a release such as 4.22")
    return release


def main() -> None:
    """Print the verdicts."""
    parser = argparse.ArgumentParser(prog="tools/verdicts", description=__doc__)
    what = "the release of the openshift-install to compare with (default: the newest)"
    parser.add_argument("--release", type=_release, metavar="RELEASE", help=what)
    parser.add_argument("files", nargs="+", metavar="FILE")
    options = parser.parse_args()
    for file in options.files:
        for row in rows(file, options.release):
            print("\t".join(row))


if __name__ == "__main__":
    main()
