"""The wire to libvirt: `hypervisor` is the protocol, `connection` implements it with the library."""
