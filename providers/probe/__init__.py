"""Looks at the wire: who answers an address, and whether an API behind it is ready."""
