"""The decision whether a request may be sent."""
