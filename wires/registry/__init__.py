"""Registries of container images, by the OCI Distribution protocol; read only."""
