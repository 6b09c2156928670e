"""What everyone may use."""
