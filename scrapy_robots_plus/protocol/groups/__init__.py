"""From lines to groups, and which of them apply to a crawler."""
