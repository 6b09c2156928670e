"""`okd-baremetal status`: what a cluster and its servers are now, asked all at once."""
