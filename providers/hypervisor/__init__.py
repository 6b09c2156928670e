"""The wire to libvirt."""
