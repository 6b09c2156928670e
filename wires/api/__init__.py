"""The API of a cluster, by address: HTTPS, Kubernetes, and a client that measures."""
