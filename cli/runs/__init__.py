"""Commands on past runs, and what follows a run."""
