"""install-config.yaml: read, converted to today's spellings, completed with defaults, and checked by the rules.

The rules follow openshift/installer 006d4573 and its dependencies. docs/reference/install-config.md lists all fields.
"""

from cluster.install_config.read import Credentials, Reading, may_be_a_secret, read
from cluster.install_config.schema import InstallConfig

__all__ = ["Credentials", "InstallConfig", "Reading", "may_be_a_secret", "read"]
