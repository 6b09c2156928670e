"""How a server boots: its boot mode, and the boot attributes of an iDRAC."""
