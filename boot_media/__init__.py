"""What servers boot: base images by digest, and a boot ISO per host."""
