"""`VipHandoff`: the holder of the API VIP, and the VIP's move from the bootstrap VM to the control plane."""
