"""`fleet check`: check the plan of many clusters of many sites."""

import argparse
from pathlib import Path

from base.errors import ConfigError, Fault, one_line
from cli.inspect.check import check_file, print_verdicts
from cli.shared.command import Command
from cli.shared.command_line import EXIT_OK, install_config, stack_file
from cluster.clashes import ClusterConfig, clashes_between
from cluster.known_options import KnownOptions, known_options
from cluster.stack_file import read_options
from fleet.plan import Fleet, load
from review.text import counted


def add_fleet_file(parser: argparse.ArgumentParser) -> None:
    """Add the argument FILE."""
    what = "beside it is stacks/ (default: fleet.yaml)"
    parser.add_argument("file", nargs="?", type=Path, metavar="FILE", default=Path("fleet.yaml"), help=what)


def check(options: argparse.Namespace) -> int:
    """Check fleet.yaml, the install-config of each cluster as `check` does, and clashes with earlier clusters.

    At its own site these are what `clashes` finds, also of the addresses and VRIDs in the stacks' options; at another
    site only a domain or MAC that both have. If all is well, end with the numbers of sites, clusters and waves. The
    exit codes are those of `check`; a clash counts as an invalid file, as do gates at which nobody can approve.
    """
    file: Path = options.file
    fleet = load(file)
    code = check_clusters(fleet, file.parent)
    if code == EXIT_OK:
        if fleet.gates and not fleet.approvers:
            fix = "write the lines that `okd-baremetal fleet approver NAME FILE` prints"
            raise ConfigError(Fault(f"{file}: approvers", "empty, so nobody can approve at the phases of gates", fix))
        sizes = {"site": fleet.sites, "cluster": fleet.clusters, "wave": fleet.waves}
        print(one_line(f"{file}: {', '.join(counted(len(members), what) for what, members in sizes.items())}: ok"))
    return code


def check_clusters(fleet: Fleet, folder: Path) -> int:
    """Print what is wrong with the clusters of a fleet, and return the exit code.

    Args:
        fleet: The plan.
        folder: The folder that has `stacks/`.

    Raises:
        ConfigError: The options of a stack cannot be read.
    """
    known, unread = _options(fleet, folder)
    files = {cluster: check_file(str(folder / install_config(cluster)), known[cluster]) for cluster in fleet.clusters}
    clashing = clashes_between(
        [
            ClusterConfig(file.file, file.config, fleet.site_of[cluster], known[cluster].options)
            for cluster, file in files.items()
        ]
    )
    pairs = zip(files.values(), clashing, strict=True)
    code = print_verdicts(file._replace(faults=(*file.faults, *faults)) for file, faults in pairs)
    if unread:
        raise ConfigError(*unread)
    return code


def _options(fleet: Fleet, folder: Path) -> tuple[dict[str, KnownOptions], list[Fault]]:
    """Return the options of the stacks, and why some cannot be read. A preview checks all options."""
    known, unread = dict.fromkeys(fleet.clusters, known_options({})), list[Fault]()
    for cluster in fleet.clusters:
        try:
            known[cluster] = known_options(read_options(folder / stack_file(cluster)))
        except ConfigError as error:
            unread += error.faults
    return known, unread


CHECK = Command(check, add_fleet_file)
