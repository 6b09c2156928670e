"""What is wanted: the installer's install-config and our own options, turned into one plan. No pulumi, no network."""
