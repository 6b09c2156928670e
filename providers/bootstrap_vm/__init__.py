"""The bootstrap VM."""
