"""The command line, `okd-baremetal`: everything but what Pulumi does."""
