"""The rehearsals: install a cluster, take it to production, destroy it, and prove each step."""
