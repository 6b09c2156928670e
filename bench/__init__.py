"""Measurements: ratios, side by side in one run. Figures of the whole road come from `make rehearsal`."""
