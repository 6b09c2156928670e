"""Many clusters of many sites: a workflow per cluster on Temporal, and a worker per site that runs this program."""
