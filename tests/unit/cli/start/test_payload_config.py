"""The install-config from which a payload is generated."""

from pathlib import Path

import pytest

from base.errors import ConfigError
from cli.start.payload_config import config_of_payload
from testing import plans


def test_a_file_that_is_not_read_for_sure_makes_no_payload(tmp_path: Path) -> None:
    config = plans.install_config()
    config["networking"]["machinenetwork"] = config["networking"].pop("machineNetwork")
    file = tmp_path / "install-config.yaml"
    file.write_text(plans.written(config))
    with pytest.raises(ConfigError, match=r"networking.machinenetwork: the key is in another letter case"):
        config_of_payload(file, None)
