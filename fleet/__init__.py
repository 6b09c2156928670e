"""Many clusters of many sites: their plan, read and judged."""
