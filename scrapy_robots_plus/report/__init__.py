"""What the user sees of a crawl: warnings, progress, the table at the end, the summary file."""
