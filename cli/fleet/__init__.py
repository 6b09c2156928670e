"""Commands on many clusters of many sites."""
