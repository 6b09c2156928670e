"""Machines of a cluster in network namespaces, with real keepalived, haproxy and CoreDNS."""
