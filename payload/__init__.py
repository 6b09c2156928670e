"""What openshift-install wrote: read, pinned, and judged before a machine is given it."""
