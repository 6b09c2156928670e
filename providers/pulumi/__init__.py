"""What joins the resources to Pulumi: their base classes, its display, and its threads."""
