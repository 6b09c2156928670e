"""A development server in one folder, on loopback: PostgreSQL, Temporal with its UI, and a backend for Pulumi."""
