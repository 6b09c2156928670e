"""The installation of hosts: one host from Off to a running system, and all hosts of a role concurrently."""
