"""Commands for a report about a problem."""
