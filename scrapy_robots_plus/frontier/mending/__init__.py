"""A damaged file is read as far as it can be, and a whole one takes its place."""
