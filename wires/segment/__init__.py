"""The wire to the layer-2 segment: who answers an address or a DHCP client, VRRP's advertisements, and routes."""
