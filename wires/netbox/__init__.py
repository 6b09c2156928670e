"""NetBox, a source of truth of sites: read by its REST API, with its own client."""
