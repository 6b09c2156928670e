"""The files that openshift-install wrote: read, pinned, and checked before a machine gets them."""
