"""A job whose requests are in one file: what of it is under way, and what the user is told."""
