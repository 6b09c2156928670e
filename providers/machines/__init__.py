"""`Machines`: which machine each host is, and that no two hosts, of any time, are one."""
