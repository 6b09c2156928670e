"""A masked copy of what the program reads of a BMC, for a report."""
