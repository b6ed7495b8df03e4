"""What an audit log says, as a page for people."""
