"""`NetworkPreflight`: VIPs and VRIDs are free on the segment, and DNS resolves the cluster's names to the VIPs."""
