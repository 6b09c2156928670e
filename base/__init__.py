"""What every room uses: faults, models, YAML, private files, masking, git, HTTP, clock, locks, and a run's log."""
