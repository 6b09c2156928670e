"""The Ingress VIP is held by exactly one compute server."""
