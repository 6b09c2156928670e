"""`ClusterPower`: whether a cluster in production runs or sleeps, with all its servers off."""
