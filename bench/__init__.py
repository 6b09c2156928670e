"""Measurements that compare alternatives in one run. `make rehearsal` measures a whole installation."""
