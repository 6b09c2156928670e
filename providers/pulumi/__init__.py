"""What joins the resources to Pulumi: their base classes, its display, its threads, and what follows a run."""
