"""What every package uses: faults and errors, models, the clock, locks, progress, and the log of a run."""
