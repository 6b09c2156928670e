"""The wire to a BMC that speaks Redfish: its client, and what is special about drives, boots and captures."""
