"""Install-config and stack options, judged and joined to one plan, without Pulumi and without network access."""
