"""What an audit log says in sum, in memory that does not grow with the log."""
