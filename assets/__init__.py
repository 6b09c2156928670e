"""Every file that a machine reads: templates and scripts by role, and the code that renders them into Ignition."""
