"""`okd-baremetal discover`: what each server is, before it is ever booted."""
