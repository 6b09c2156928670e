"""How an installed server becomes a node: its certificate requests, and its node's readiness."""
