"""The command line, `okd-baremetal`: everything that works offline."""
