"""The connection to one BMC: address, login, TLS, requests, and what its refusals mean."""
