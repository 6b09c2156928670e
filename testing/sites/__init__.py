"""Sites with clusters of the fake fleet: clones of one repository of stacks, workers, and what only a site knows."""
