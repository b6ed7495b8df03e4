"""What sites want done with their pages, and where a crawl keeps that."""
