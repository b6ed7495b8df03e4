"""How a robots.txt is got."""
