"""The command line, `okd-baremetal`: everything that can be known offline."""
