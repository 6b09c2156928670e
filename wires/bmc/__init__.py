"""What every BMC has, whatever it speaks: the protocol that engines use, the steps built on it, and its values."""
