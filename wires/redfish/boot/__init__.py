"""How a server boots: the boot attributes of an iDRAC, and the types that boot from the network."""
