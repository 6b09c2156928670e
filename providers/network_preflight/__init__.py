"""Nobody else on the segment has the VIPs or their router ids, and the names lead to them."""
