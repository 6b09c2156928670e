"""The wire to libvirt: `hypervisor` is the protocol, `connection` the library behind it."""
