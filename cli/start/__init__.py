"""Commands that make a site, a stack and its payload."""
