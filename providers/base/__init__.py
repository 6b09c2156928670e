"""The base of all rooms: faults and errors, the clock, the lock, progress, and the base classes of resources."""
