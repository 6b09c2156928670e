"""The layer-2 segment: who answers an address, who speaks VRRP, where routes lead."""
