"""What the provisioner must have before anything starts."""
