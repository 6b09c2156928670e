"""`VipHeld`: exactly one server holds the Ingress VIP."""
