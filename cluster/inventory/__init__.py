"""What servers are, as their BMCs tell: read by `okd-baremetal discover`, compared with what the files want."""
