"""`ServerObjects`: the objects by which a cluster of platform baremetal knows its servers."""
