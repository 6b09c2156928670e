"""The wire to a BMC: the protocol that engines use, its implementation over Redfish, and the steps built on it."""
