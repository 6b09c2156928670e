"""Machines of a cluster in network namespaces, with the real keepalived, haproxy and CoreDNS."""
