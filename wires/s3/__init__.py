"""Buckets of S3, of AWS or of any other server: written to by AWS's own client."""
