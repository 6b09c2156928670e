"""Mutated inputs for all that the program reads: one engine, and one module for each surface."""
