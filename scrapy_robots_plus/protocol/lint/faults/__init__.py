"""What can be wrong with a robots.txt, by what it is a fault of."""
