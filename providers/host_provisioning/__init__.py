"""`HostProvisioning`: installs all hosts of one role, concurrently, by virtual media."""
