"""Parsed values: addresses, MACs, BMC addresses, VRRP numbers."""
