"""The connection to the Temporal server, by the variables and profiles that all of Temporal's tools read."""

import re

from temporalio.client import Client
from temporalio.envconfig import ClientConfig
from temporalio.service import RPCError

from base.errors import ConfigError, Fault
from fleet.codec import converter

NAMESPACE = "fleet"
REASON = re.compile(r'message: "([^"]+)"')


async def connected() -> Client:
    """Return a client.

    Raises:
        ConfigError: The server does not answer, or the fleet's key is missing.
    """
    config = ClientConfig.load_client_connect_config()
    config.setdefault("namespace", NAMESPACE)
    sealed = converter()
    try:
        client = await Client.connect(**config, data_converter=sealed)
        await client.count_workflows()
        return client
    except RPCError as error:
        fix = "make it, with its search attributes: docs/how-to/many-sites.md"
        raise ConfigError(Fault(f"namespace {config['namespace']}", error.message.rstrip("."), fix)) from None
    except (RuntimeError, ValueError) as error:
        where = config.get("target_host", "TEMPORAL_ADDRESS")
        fix = "start it, or export another TEMPORAL_ADDRESS: docs/how-to/many-sites.md"
        # The system's own message, deep in the names of Rust's errors.
        why = REASON.findall(str(error)) or [str(error)]
        raise ConfigError(Fault(where, f"no Temporal server answers there: {why[-1]}", fix)) from None
