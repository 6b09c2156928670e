"""JSON Schemas (2020-12) for editors: of install-config.yaml and of the stack's options."""

from collections.abc import Iterable
from typing import Any

from pydantic import BaseModel
from pydantic.json_schema import GenerateJsonSchema, JsonSchemaValue
from pydantic_core import core_schema

from cluster.install_config import InstallConfig, platform
from cluster.install_config.old_spellings import API_VERSIONS
from cluster.install_config.rules import access, by_release, features, hosts, pki, pools, vips
from cluster.options import Options

VALUES: dict[tuple[str, str], Iterable[str]] = {
    ("InstallConfig", "apiVersion"): API_VERSIONS,
    ("InstallConfig", "additionalTrustBundlePolicy"): access.BUNDLE_POLICIES,
    ("InstallConfig", "featureSet"): by_release.FEATURE_SETS,
    ("InstallConfig", "osImageStream"): by_release.OS_IMAGE_STREAMS,
    ("InstallConfig", "publish"): (features.PUBLISH,),
    ("InstallConfig", "cpuPartitioningMode"): features.CPU_PARTITIONING,
    ("ImageSource", "sourcePolicy"): access.SOURCE_POLICIES,
    ("Capabilities", "baselineCapabilitySet"): features.CAPABILITY_SETS,
    ("Capabilities", "additionalEnabledCapabilities"): sorted(features.CAPABILITY_SETS[features.CURRENT]),
    ("MachinePool", "architecture"): pools.ARCHITECTURES,
    ("MachinePool", "hyperthreading"): pools.SWITCH,
    ("FencingCredential", "certificateVerification"): pools.SWITCH,
    ("SignerKey", "algorithm"): pki.ALGORITHMS,
    ("EcdsaKey", "curve"): pki.CURVES,
    ("BareMetal", "provisioningNetwork"): platform.PROVISIONING_MODES,
    ("BareMetal", "dnsRecordsType"): vips.DNS_RECORDS,
    ("LoadBalancer", "type"): (vips.DEFAULT_BALANCER, vips.USER_MANAGED),
    ("Host", "role"): hosts.ROLES,
    ("Host", "bootMode"): hosts.BOOT_MODES,
}
"""The values that the rules accept for a field, by section and key."""
ENCRYPTED = {"type": "object", "properties": {"secure": {"type": "string"}}, "required": ["secure"]}
"""The form in which `pulumi config set --secret` writes a value to a stack's file."""


class _Plain(GenerateJsonSchema):
    """A generator without titles, which would only repeat each key."""

    def field_title_should_be_set(self, schema: Any) -> bool:
        """Return False."""
        return False


class _Unfilled(_Plain):
    """A generator without the models' defaults, which only mean a missing key. `defaults` has the installer's."""

    def default_schema(self, schema: core_schema.WithDefaultSchema) -> JsonSchemaValue:
        """Return the schema of a value that may be missing."""
        return self.generate_inner(schema["schema"])

    def nullable_schema(self, schema: core_schema.NullableSchema) -> JsonSchemaValue:
        """Return the schema of a value that may be None."""
        return self.generate_inner(schema["schema"])


def schemas() -> dict[str, Any]:
    """Return the schemas `install_config` and `options`; in the latter, names lack the prefix of a stack's file."""
    return {
        "install_config": _install_config()
        | {
            "title": "install-config.yaml",
            "description": "The file from which openshift-install installs a cluster on bare metal. "
            "`okd-baremetal check` checks whether the values fit each other.",
        },
        "options": _encryptable(generated(Options))
        | {
            "title": "options of a stack",
            "description": "The keys below `config:` in stacks/Pulumi.<stack>.yaml, where each begins with "
            "`okd-baremetal:`.",
        },
    }


def _install_config() -> dict[str, Any]:
    made = generated(InstallConfig, _Unfilled)
    sections = {"InstallConfig": made, **made["$defs"]}
    for (section, key), values in VALUES.items():
        field = sections[section]["properties"][key]
        field.get("items", field)["enum"] = list(values)
    for node in (
        *made["$defs"].values(),
        *(field for section in sections.values() for field in section["properties"].values()),
    ):
        if "type" in node:  # null counts as a missing key
            node["type"] = [node["type"], "null"]
        if "enum" in node:
            node["enum"].append(None)
    return made


def generated(model: type[BaseModel], generator: type[GenerateJsonSchema] = _Plain) -> dict[str, Any]:
    """Return the schema of a file's model."""
    made = model.model_json_schema(schema_generator=generator)
    return {"$schema": GenerateJsonSchema.schema_dialect, **made}


def _encryptable(node: Any) -> Any:
    """Return the schema in which each password, and each mapping of logins as a whole, may be encrypted."""
    if isinstance(node, list):
        return [_encryptable(element) for element in node]
    if not isinstance(node, dict):
        return node
    if node.get("format") == "password" or node.get("additionalProperties") == {"$ref": "#/$defs/Login"}:
        return {"anyOf": [node, ENCRYPTED]}
    return {key: _encryptable(member) for key, member in node.items()}
