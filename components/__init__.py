"""The graph: what depends on what, and why."""
