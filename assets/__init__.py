"""What the machines will read: templates and scripts by role, and what turns them into Ignition and boot media."""
