"""`DestroyGuard`: refuses the deletion of a cluster in production."""
