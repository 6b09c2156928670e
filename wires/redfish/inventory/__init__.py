"""Reads what a server is: CPUs, memory, cards and disks. Changes nothing."""
