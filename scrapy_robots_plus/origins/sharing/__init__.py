"""One fetch of a robots.txt for several crawls that need it at the same time."""
