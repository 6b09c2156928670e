"""What runs at a site: its worker's activities, each on a checkout of its cluster's commit."""
