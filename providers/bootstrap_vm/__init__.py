"""`BootstrapVm`: the libvirt machine that starts a cluster."""
