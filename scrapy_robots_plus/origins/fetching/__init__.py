"""How a robots.txt is fetched."""
