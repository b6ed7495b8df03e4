"""What was decided, on record: the audit log of crawls, and what can be done with it."""
