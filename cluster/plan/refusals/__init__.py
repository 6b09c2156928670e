"""What a valid install-config and its options may not ask for, and what they lack.

The command line and the program use the same functions.
"""
