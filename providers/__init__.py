"""The resources, one package for each, and the base that they share."""
