"""`OkdInstalled`: OKD reports that its installation is complete."""
