"""The members of etcd: how they are reached, which of them answer, and how etcd is saved."""
