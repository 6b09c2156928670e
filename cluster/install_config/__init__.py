"""install-config.yaml: read, brought to today's spellings, its gaps filled, judged as openshift-install judges it.

Read against openshift/installer 006d4573 and its neighbours; docs/reference/install-config.md lists every field.
"""

from cluster.install_config.read import Credentials, Reading, read
from cluster.install_config.schema import InstallConfig

__all__ = ["Credentials", "InstallConfig", "Reading", "read"]
