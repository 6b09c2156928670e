"""The repository of a small fleet, on which tests call `okd-baremetal fleet`."""

from pathlib import Path
from typing import Any

import yaml

from testing.approvers import JANE, public_key
from testing.install_configs import Change, numbered

APPROVERS = {"jane": public_key(JANE)}
FLEET = {
    "sites": {"north": ["north-a", "north-b"], "south": ["south-a"]},
    "approvers": APPROVERS,
    "waves": [{"clusters": ["south-a"]}, {}],
}
CLUSTERS = ("north-a", "north-b", "south-a")


class Site:
    """The repository of a fleet: `fleet.yaml` and the stacks of three clusters that share nothing."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.file = folder / "fleet.yaml"
        self.file.write_text(yaml.safe_dump(FLEET))
        for number, cluster in enumerate(CLUSTERS):
            self.write(cluster, numbered(number))
            self.options(cluster)

    def write(self, cluster: str, config: dict[str, Any]) -> None:
        self.install_config(cluster).parent.mkdir(parents=True, exist_ok=True)
        self.install_config(cluster).write_text(yaml.safe_dump(config))

    def change(self, change: Change, *clusters: str) -> None:
        for cluster in clusters:
            self.write(cluster, numbered(CLUSTERS.index(cluster), change))

    def options(self, cluster: str, **options: Any) -> None:
        config = {f"okd-baremetal:{name}": value for name, value in options.items()}
        (self.folder / "stacks" / f"Pulumi.{cluster}.yaml").write_text(yaml.safe_dump({"config": config}))

    def install_config(self, cluster: str) -> Path:
        return self.folder / "stacks" / cluster / "install-config.yaml"
