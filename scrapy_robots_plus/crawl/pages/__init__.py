"""What pages say of themselves: which of their links are followed, which items are kept."""
