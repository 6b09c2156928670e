"""`ClusterUpgrade`: a cluster in production runs the release that its stack names."""
