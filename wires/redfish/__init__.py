"""The wire to a BMC: a protocol that engines depend on, its Redfish implementation, and the steps built on it."""
