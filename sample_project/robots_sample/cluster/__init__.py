"""Four workers that crawl together through Redis: ``make cluster-demo``."""
