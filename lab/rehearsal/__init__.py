"""The main job as a rehearsal: one cluster from nothing to production and away again, each step proven."""
