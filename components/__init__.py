"""The graph: what depends on what, and why. `cluster` has it; the others are its parts."""
