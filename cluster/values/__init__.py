"""The words of the field, parsed: addresses, MACs, BMC addresses, VRRP numbers."""
