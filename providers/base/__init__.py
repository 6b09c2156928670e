"""The base of all rooms: faults and errors, the clock, the lock, progress, and the base classes of resources."""

import gc

# What a command imports stays until its end. By default Python looks through it for garbage at each 700th new object,
# which took a quarter of the imports' time (2026-11).
gc.set_threshold(50_000)
