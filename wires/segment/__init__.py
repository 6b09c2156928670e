"""The wire to the layer-2 segment: the machines that answer an address, VRRP's advertisements, and routes."""
