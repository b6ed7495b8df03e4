"""One pace for each host, kept by all crawls together."""
