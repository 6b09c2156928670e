"""The wire of etcd: its own API, without the Kubernetes API in between."""
