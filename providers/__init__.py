"""The only code that touches the world: one package per resource, and the wires they share."""
