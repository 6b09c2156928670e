"""One package per wire: the protocol that engines use, and the library that implements it."""
