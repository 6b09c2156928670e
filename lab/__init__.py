"""The rehearsal: virtual machines that stand in for the bare metal. The program never imports this package."""
