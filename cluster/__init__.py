"""Install-config and stack options, checked and joined to one plan, without Pulumi and without network access."""
