"""What a crawl writes into its audit log."""
