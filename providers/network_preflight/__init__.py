"""`NetworkPreflight`: VIPs, VRIDs and the provisioning network are free, and DNS resolves the names to the VIPs."""
