"""The wire to a BMC that speaks IPMI 2.0 over LAN (RMCP+), by a client of our own: ADR 61."""
