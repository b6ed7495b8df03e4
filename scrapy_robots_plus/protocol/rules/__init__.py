"""From groups to rules, and from rules to a verdict on a URL."""
