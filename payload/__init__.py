"""The files that openshift-install wrote: read, pinned, and judged before a machine gets them."""
