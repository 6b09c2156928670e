"""The rehearsal of many sites: server, database, workers and clusters of the fake fleet, on this machine."""
