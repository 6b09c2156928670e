"""The wire to a cluster's API at a given address: HTTPS, Kubernetes, and a client that measures interruptions."""
