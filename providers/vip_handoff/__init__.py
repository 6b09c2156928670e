"""Who holds the API VIP, and its move from the bootstrap to the control plane."""
