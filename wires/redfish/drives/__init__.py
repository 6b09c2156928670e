"""The virtual CD drives of a server, and what can be wrong with them."""
