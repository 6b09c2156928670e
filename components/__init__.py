"""The graph: what depends on what, and why. `cluster` declares it; the other modules are its parts."""
