"""`ProvisionerPreflight`: the provisioner has everything that `up` needs."""
