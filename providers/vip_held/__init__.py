"""`VipHeld`: exactly one server holds the Ingress VIP, and a router serves there."""
