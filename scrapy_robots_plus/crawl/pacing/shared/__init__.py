"""One pace for each host, kept by several crawls together."""
