"""One table of all addresses of a cluster, and one rule that says which of them may coincide."""
